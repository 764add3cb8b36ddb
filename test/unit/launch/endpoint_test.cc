#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "launch/isolation/namespaces.h"

namespace {

using cudadiag::launch::Endpoint;
using cudadiag::launch::endpoint_of;

template <typename Address>
std::span<const char> bytes_of(const Address& address) {
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

sockaddr_in ipv4(const char* text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  REQUIRE(::inet_pton(AF_INET, text, &address.sin_addr) == 1);
  return address;
}

sockaddr_in6 ipv6(const char* text, std::uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  REQUIRE(::inet_pton(AF_INET6, text, &address.sin6_addr) == 1);
  return address;
}

}  // namespace

TEST_CASE("an IPv4 endpoint has its address and port") {
  const auto found = endpoint_of(bytes_of(ipv4("10.0.0.7", 5432)));
  REQUIRE(found);
  CHECK(found->text == "10.0.0.7:5432");
  CHECK(found->port == 5432);
  CHECK_FALSE(found->loopback);
  CHECK_FALSE(found->any_address);
}

TEST_CASE("all of 127/8 is loopback, and its neighbours are not") {
  CHECK(endpoint_of(bytes_of(ipv4("127.0.0.1", 1)))->loopback);
  CHECK(endpoint_of(bytes_of(ipv4("127.9.8.7", 1)))->loopback);
  CHECK_FALSE(endpoint_of(bytes_of(ipv4("126.255.255.255", 1)))->loopback);
  CHECK_FALSE(endpoint_of(bytes_of(ipv4("128.0.0.1", 1)))->loopback);
}

TEST_CASE("the address for all interfaces is recognised in both families") {
  CHECK(endpoint_of(bytes_of(ipv4("0.0.0.0", 0)))->any_address);
  CHECK(endpoint_of(bytes_of(ipv6("::", 0)))->any_address);
  CHECK_FALSE(endpoint_of(bytes_of(ipv6("::1", 0)))->any_address);
}

TEST_CASE("an IPv6 endpoint is written in brackets") {
  const auto found = endpoint_of(bytes_of(ipv6("2001:db8::2", 80)));
  REQUIRE(found);
  CHECK(found->text == "[2001:db8::2]:80");
  CHECK(endpoint_of(bytes_of(ipv6("::1", 80)))->loopback);
}

TEST_CASE("an IPv4 address mapped into IPv6 counts as an IPv4 address") {
  const auto found = endpoint_of(bytes_of(ipv6("::ffff:127.0.0.1", 80)));
  REQUIRE(found);
  CHECK(found->text == "127.0.0.1:80");
  CHECK(found->loopback);
}

TEST_CASE("an IPv6 address without its scope is accepted, but shorter ones and other families are not") {
  const sockaddr_in6 address = ipv6("::1", 80);
  CHECK(endpoint_of(bytes_of(address).first(24)));
  CHECK_FALSE(endpoint_of(bytes_of(address).first(23)));
  CHECK_FALSE(endpoint_of(bytes_of(ipv4("10.0.0.7", 1)).first(sizeof(sockaddr_in) - 1)));
  sockaddr local{};
  local.sa_family = AF_UNIX;
  CHECK_FALSE(endpoint_of(bytes_of(local)));
  CHECK_FALSE(endpoint_of({}));
}
