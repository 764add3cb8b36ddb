// The ways in which a thread can end the program, selected by name.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

inline void end_by(const std::string& way) {
  if (way == "exit") std::exit(3);
  if (way == "_exit") _exit(4);
  if (way == "quick_exit") std::quick_exit(5);
  if (way == "abort") std::abort();
  if (way == "terminate") std::terminate();
  if (way == "signal") raise(SIGTERM);
  if (way == "pthread_exit") std::thread([] { std::exit(6); }).detach(), pthread_exit(nullptr);
}
