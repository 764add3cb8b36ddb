#include "report/redaction.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace redaction_test {

using cudadiag::report::Redaction;

namespace {

const Redaction redaction({"/home/ada", "/srv/people/ada"}, {"ada"}, {"node7.cluster.example", "localhost"});

std::string text(std::string_view raw) { return redaction.text(raw); }

}  // namespace

TEST_CASE("homes, users and hosts are removed if they are whole names") {
  CHECK(text("/home/ada/train.py:3") == "~/train.py:3");
  CHECK(text("/srv/people/ada/x and /srv/people/adam/x") == "~/x and /srv/people/adam/x");
  CHECK(text("/home/grace/x /Users/grace.h/y /home/") == "/home/USER/x /Users/USER/y /home/");
  CHECK(text("on node7 (node7.cluster.example), not node71; localhost") == "on HOST (HOST), not node71; localhost");
  CHECK(text("ada, adapter, Canada, ada's") == "USER, adapter, Canada, USER's");
  CHECK(Redaction({}, {"root"}, {}).text("root") == "root");
  CHECK(Redaction({}, {}, {}).text("/home/grace/x") == "/home/grace/x");
}

TEST_CASE("values of secrets are removed by their names") {
  CHECK(text("HF_TOKEN=abc") == "HF_TOKEN=REDACTED");
  CHECK(text("export AWS_SECRET_ACCESS_KEY='a b', X=1") == "export AWS_SECRET_ACCESS_KEY='REDACTED', X=1");
  CHECK(text("train.py --api-key abc --epochs 3") == "train.py --api-key REDACTED --epochs 3");
  CHECK(text("--password=hunter2") == "--password=REDACTED");
  CHECK(text("login(token=\"abc\", name=\"x\")") == "login(token=\"REDACTED\", name=\"x\")");
  CHECK(text("{\"token\": \"abc\"}") == "{\"token\": \"REDACTED\"}");
  CHECK(text("token = a1b2c3d4e5f6a7b8c9") == "token = REDACTED");
  CHECK(text("--auth abc --authorization=abc NGINX_AUTH=abc") ==
        "--auth REDACTED --authorization=REDACTED NGINX_AUTH=REDACTED");
  CHECK(text("--pwd=abc --pass abc MYSQL_PWD=abc DB_PASSWD=abc") ==
        "--pwd=REDACTED --pass REDACTED MYSQL_PWD=REDACTED DB_PASSWD=REDACTED");
}

TEST_CASE("values of secrets in Python are removed even if their names are quoted") {
  const std::string key = "0123456789abcdef0123456789abcdef01234567";
  CHECK(text("os.environ[\"WANDB_API_KEY\"] = \"" + key + "\"") == "os.environ[\"WANDB_API_KEY\"] = \"REDACTED\"");
  CHECK(text("os.environ['DB_PASS']='x'") == "os.environ['DB_PASS']='REDACTED'");
  CHECK(text("os.environ.setdefault(\"AWS_SECRET\", \"abc\")") ==
        "os.environ.setdefault(\"AWS_SECRET\", \"REDACTED\")");
  CHECK(text("wandb.login(key=\"" + key + "\")") == "wandb.login(key=\"REDACTED\")");
  CHECK(text("PASSPHRASE = \"open sesame\"") == "PASSPHRASE = \"REDACTED\"");
  CHECK(text("SECRET_KEY = b\"_5y2L\", DB_PASSWORD = r'x y'") ==
        "SECRET_KEY = b\"REDACTED\", DB_PASSWORD = r'REDACTED'");
  CHECK(text("keep(password=rb'x')") == "keep(password=rb'REDACTED')");
  CHECK(text("API_TOKEN = \"\"\"q8\nW3\"\"\"\nx = 1") == "API_TOKEN = \"\"\"REDACTED\"\"\"\nx = 1");
  CHECK(text("setdefault('DB_PASSWORD', f'''x''')") == "setdefault('DB_PASSWORD', f'''REDACTED''')");
  CHECK(text("token = bar, rub") == "token = bar, rub");
  CHECK(text("mydb_pass = \"abc\", dbpass='abc'") == "mydb_pass = \"REDACTED\", dbpass='REDACTED'");
}

TEST_CASE("in a shell script, every value of a secret is removed") {
  const auto script = [](std::string_view raw) { return redaction.text(raw, Redaction::Kind::script); };
  CHECK(script("export DBPASS=\"quoted2\"\nDB_PASS=hunter1\npassword=plain3\ntoken=tok4; ./x") ==
        "export DBPASS=\"REDACTED\"\nDB_PASS=REDACTED\npassword=REDACTED\ntoken=REDACTED; ./x");
  CHECK(script("token=$1 password=${DB} CUDADIAG_PASS=record tokens=5 key=name forward_pass=2") ==
        "token=$1 password=${DB} CUDADIAG_PASS=record tokens=5 key=name forward_pass=2");
}

TEST_CASE("in the words of a command, every value of a secret is removed") {
  CHECK(
      redaction.words({"password=hun,ter2", "db.password=x", "host=h password=x dbname=d", "password: x", "pass:x"}) ==
      std::vector<std::string>{"password=REDACTED", "db.password=REDACTED", "host=h password=REDACTED dbname=d",
                               "password: REDACTED", "pass:REDACTED"});
  CHECK(redaction.words({"x", "-pwd", "X", "--token", "-v", "-p", "3", "max_tokens=5", "--lr=3", "key=a"}) ==
        std::vector<std::string>{"x", "-pwd", "REDACTED", "--token", "REDACTED", "-p", "3", "max_tokens=5", "--lr=3",
                                 "key=a"});
}

TEST_CASE("values of secrets are removed after annotations, too") {
  CHECK(text("api_key: str = \"abc\"") == "api_key: str = \"REDACTED\"");
  CHECK(text("token: Optional[str | None]='a b'") == "token: Optional[str | None]='REDACTED'");
  CHECK(text("def login(token: str, name: str): x = 1") == "def login(token: str, name: str): x = 1");
}

TEST_CASE("private keys are removed whole") {
  CHECK(text("-----BEGIN PRIVATE KEY-----\nMII\nabc\n-----END PRIVATE KEY-----\nx") ==
        "-----BEGIN PRIVATE KEY-----REDACTED-----END PRIVATE KEY-----\nx");
  CHECK(text("-----BEGIN RSA PRIVATE KEY-----\nMII") == "-----BEGIN RSA PRIVATE KEY-----REDACTED");
  const std::string two = "-----BEGIN PRIVATE KEY-----\nA\n-----END PRIVATE KEY-----\n";
  CHECK(text(two + "between\n" + two).find("between") != std::string::npos);
  CHECK(text(two + "between\n" + two).find("\nA\n") == std::string::npos);
}

TEST_CASE("credentials in requests are recognised by the word before them") {
  CHECK(text("--authorization=Bearer s3cr3tvalue x") == "--authorization=REDACTED x");
  CHECK(text("AUTH_HEADER=Bearer leakone --auth-header=Basic leakthree=") ==
        "AUTH_HEADER=REDACTED --auth-header=REDACTED");
  CHECK(text("--auth-header=Authorization: Bearer zzz888") == "--auth-header=REDACTED Bearer REDACTED");
  CHECK(text("-H 'Authorization: Basic YWRhOnB3==' -v") == "-H 'Authorization: Basic REDACTED' -v");
  CHECK(text("f\"bearer {token}\"") == "f\"bearer {token}\"");
  CHECK(text("Basic") == "Basic");
}

TEST_CASE("known tokens and logins are removed everywhere") {
  CHECK(text("f('hf_abcdefghijklmnopqrstu')") == "f('REDACTED')");
  CHECK(text("https://ada:pw@example.org/x") == "https://REDACTED@example.org/x");
  CHECK(text("https://example.org/x@y") == "https://example.org/x@y");
}

TEST_CASE("secret parameters of connections and addresses are removed in code, too") {
  CHECK(text("c = connect(\"Server=db;Password=x,y;Port=1\")") ==
        "c = connect(\"Server=db;Password=REDACTED;Port=1\")");
  CHECK(text("'AccountName=a;AccountKey=x==;'") == "'AccountName=a;AccountKey=REDACTED;'");
  CHECK(text("https://s3/x?X-Amz-Signature=ab12&X-Amz-Date=1") == "https://s3/x?X-Amz-Signature=REDACTED&X-Amz-Date=1");
  CHECK(text("https://blob/x?sv=1&sig=a%3D") == "https://blob/x?sv=1&sig=REDACTED");
  CHECK(text("f\"token={token}\" 'token=%s' sig = 3") == "f\"token={token}\" 'token=%s' sig = 3");
}

TEST_CASE("camel-case names are split into words") {
  CHECK(text("accessToken = 'x', authToken: 'x', sharedAccessKey='x'") ==
        "accessToken = 'REDACTED', authToken: 'REDACTED', sharedAccessKey='REDACTED'");
  CHECK(text("numTokens = 'x', hotKey='x', KeyError='x', forwardPass='x'") ==
        "numTokens = 'x', hotKey='x', KeyError='x', forwardPass='x'");
}

TEST_CASE("logins are removed from options that take one") {
  const auto script = [](std::string_view raw) { return redaction.text(raw, Redaction::Kind::script); };
  CHECK(script("curl -u bob:x https://h\ncurl --user bob:x; id -u bob") ==
        "curl -u REDACTED https://h\ncurl --user REDACTED id -u bob");
  CHECK(script("mysql -px db; mkdir -p dir") == "mysql -pREDACTED db; mkdir -p dir");
  CHECK(script("mkdir -p dir; g++ -pthread") == "mkdir -p dir; g++ -pthread");
  CHECK(text("os.system(\"curl -u bob:x\")") == "os.system(\"curl -u REDACTED\")");
  using Words = std::vector<std::string>;
  CHECK(redaction.words({"x", "-u", "bob:y", "--cred", "bob:y", "-p", "y", "-p", "3", "-u", "name"}) ==
        Words{"x", "-u", "REDACTED", "--cred", "REDACTED", "-p", "REDACTED", "-p", "3", "-u", "name"});
  CHECK(redaction.words({"/usr/bin/mysql", "-py", "-P", "3306"}) ==
        Words{"/usr/bin/mysql", "-pREDACTED", "-P", "3306"});
  CHECK(redaction.words({"gcc", "-pthread"}) == Words{"gcc", "-pthread"});
}

TEST_CASE("passwords in short options and in logins are removed from a command") {
  using Words = std::vector<std::string>;
  CHECK(redaction.words({"x", "-phunter2", "-p8080", "-pthread", "-p1/x", "--pw", "abc", "--pw=abc"}) ==
        Words{"x", "-pREDACTED", "-p8080", "-pthread", "-p1/x", "--pw", "REDACTED", "--pw=REDACTED"});
  CHECK(redaction.words({"x", "--key=k3yvalue", "--key", "k3yvalue", "--key", "name", "--key=3"}) ==
        Words{"x", "--key=REDACTED", "--key", "REDACTED", "--key", "name", "--key=3"});
  CHECK(redaction.words({"x", "bob:y@db.example", "--db=bob:y@db"}) ==
        Words{"x", "bob:REDACTED@db.example", "--db=bob:REDACTED@db"});
  CHECK(text("mailto:bob@example.org git@host:path image:2.1@sha256:ab f\"{user}:{pw}@{host}\" 12:30@x a: @b") ==
        "mailto:bob@example.org git@host:path image:2.1@sha256:ab f\"{user}:{pw}@{host}\" 12:30@x a: @b");
}

TEST_CASE("tokens of more services are recognised") {
  for (const char* token :
       {"ghu_0123456789abcdefghij", "ghr_0123456789abcdefghij", "npm_0123456789abcdefghij", "AIza0123456789abcdefghij",
        "ASIA0123456789ABCDEF", "sk_live_0123456789abcdef", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjft-JeZ4CVP"}) {
    CHECK(text(std::string("f('") + token + "')") == "f('REDACTED')");
  }
  CHECK(text("https://hooks.slack.com/services/T0/B0/xyz x") == "https://hooks.slack.com/services/REDACTED x");
  CHECK(text("npm_config_user_agent_of_ours") == "npm_config_user_agent_of_ours");
}

TEST_CASE("tokens are recognised by the shapes that their services document") {
  const std::string hex = "0123456789abcdef0123456789abcdef", letters = "abcdEFGHijklMNOPqrst";
  const std::string mixed = "a1B2c3D4e5F6g7H8i9J0", capitals = "IOSFODNN7EXAMPLE";
  for (const std::string& token : {
           "hf_" + letters,
           "ghp_" + letters,
           "gho_" + mixed,
           "ghs_" + mixed + "_x",
           "github_pat_" + mixed + "_" + mixed,
           "glpat-" + mixed,
           "glpat-" + mixed + ".01.a1b2c3d4e",
           "sk-proj-" + mixed + "_-x",
           "sk-ant-api03-" + mixed,
           "xoxb-123456789012-" + mixed,
           "xapp-1-" + mixed,
           "SG." + mixed + "-_." + mixed + mixed + "-_x",
           "12345678:AA" + mixed + "-_-_abcdefghi",
           "bot1234567890:AA" + mixed + "-_-_abcdefghi",
           "dop_v1_" + hex + hex,
           "doo_v1_" + hex + hex,
           "dor_v1_" + hex + hex,
           "wandb_v1_" + mixed + "_" + mixed,
           "AKIA" + capitals,
           "AIza" + mixed + "_-abc",
           "npm_" + mixed,
           "pypi-" + mixed + mixed + mixed,
           "rk_live_" + mixed,
           "eyJ" + mixed + ".eyJ" + mixed + ".a-b_c",
       }) {
    INFO(token);
    CHECK(text("f('" + token + "')") == "f('REDACTED')");
    CHECK(text("call " + token + " now") == "call REDACTED now");
    CHECK(redaction.words({"x", token}) == std::vector<std::string>{"x", "REDACTED"});
  }
}

TEST_CASE("names, hashes and commits that only resemble tokens are unchanged") {
  const std::string hex = "0123456789abcdef0123456789abcdef01234567";
  for (const std::string& name : std::vector<std::string>{
           "hf_model_checkpoint_of_step_1000.safetensors",
           "sk-learn-contrib-of-somebody",
           "xoxo_message_to_somebody_else",
           "pypi-mirror-2024-of-somebody.tar.gz",
           "SG.layer.weight",
           "12345678:abc",
           "20261128:" + hex,
           "dop_v1_weights.bin",
           "/cache/" + hex + "/model.bin",
           "commit " + hex,
           "sha256:" + hex + hex,
           "npm_config_registry_of_somebody_1",
           "AKIAnalysisOfSomething1",
       }) {
    INFO(name);
    CHECK(text(name) == name);
  }
}

TEST_CASE("a key of W&B is recognised only after the name of W&B") {
  const std::string key = "0123456789abcdef0123456789abcdef01234567";
  using Words = std::vector<std::string>;
  CHECK(text("wandb login " + key) == "wandb login REDACTED");
  CHECK(text("WANDB = '" + key + "'") == "WANDB = 'REDACTED'");
  CHECK(text("import wandb\ncommit " + key) == "import wandb\ncommit " + key);
  CHECK(text("git checkout " + key + "  # for wandb") == "git checkout " + key + "  # for wandb");
  CHECK(redaction.words({"wandb", "login", key}) == Words{"wandb", "login", "REDACTED"});
  CHECK(redaction.words({"git", "checkout", key, ""}) == Words{"git", "checkout", key, ""});
  CHECK(redaction.words({"wandb", "login", key + "0", ""}) == Words{"wandb", "login", key + "0", ""});
}

TEST_CASE("an option whose name ends in key has a secret value, unless it names a field") {
  using Words = std::vector<std::string>;
  for (const char* name : {"--wandb-key", "--openai_key", "--hf-token", "--db-password", "--client-secret"}) {
    INFO(name);
    CHECK(redaction.words({"x", name, "VALUE", "y"}) == Words{"x", name, "REDACTED", "y"});
    CHECK(redaction.words({"x", std::string(name) + "=VALUE", "y"}) ==
          Words{"x", name + std::string("=REDACTED"), "y"});
    CHECK(text("x " + std::string(name) + " VALUE y") == "x " + std::string(name) + " REDACTED y");
  }
  CHECK(redaction.words({"--sort-key", "name", "--image-key=jpg", "--keys", "a", "--key-size", "64", "--wandb-key",
                         "-v", "--monkey", "b"}) == Words{"--sort-key", "name", "--image-key=jpg", "--keys", "a",
                                                          "--key-size", "64", "--wandb-key", "-v", "--monkey", "b"});
  CHECK(redaction.json(R"({"argv":["x","--wandb-key","VALUE","--sort-key","name"]})").find("VALUE") ==
        std::string::npos);
}

TEST_CASE("the strings that are passed to a login are removed") {
  CHECK(text("login(user, \"x\")") == "login(user, \"REDACTED\")");
  CHECK(text("server.login('ada.b', f'x y')\nnext('z')") == "server.login('REDACTED', f'REDACTED')\nnext('z')");
  CHECK(text("HTTPBasicAuth(\n    'grace',\n    'x')") == "HTTPBasicAuth(\n    'REDACTED',\n    'REDACTED')");
  CHECK(text("client.authenticate(\"\"\"a\nb\"\"\", name='n')") ==
        "client.authenticate(\"\"\"REDACTED\"\"\", name='n')");
  for (const char* code : {"login(os.environ['USER'], getpass('Password'))", "plugin(user, 'x')", "login(name='n')",
                           "login()", "login", "def login(user: str): return 'x'", "login_page('x')", "login(user", "(",
                           "login(user, '')", "login(a or 'x')"}) {
    INFO(code);
    CHECK(text(code) == code);
  }
  CHECK(text("login(login(\"b\"), \"c\"") == "login(login(\"b\"), \"REDACTED\"");
}

TEST_CASE("a command can lose only its secrets") {
  CHECK(cudadiag::report::without_secrets({"/home/ada/x", "cfg={'token': 'X'}", "--token", "a b"}) ==
        std::vector<std::string>{"/home/ada/x", "cfg={'token': 'REDACTED'}", "--token", "REDACTED"});
}

TEST_CASE("code that only resembles secrets is unchanged") {
  for (const char* code : {"tokenizer = AutoTokenizer.load(name)",
                           "num_tokens=512",
                           "key = lambda x: x",
                           "for key, value in table.items():",
                           "token = ids[0]",
                           "if token == 'x':",
                           "keyboard: 3",
                           "sorted(x, key=len)",
                           "monkey = 'banana'",
                           "sk-learn",
                           "author = 'A. Lovelace'",
                           "    pass",
                           "pwd = os.getcwd()",
                           "PWD=/tmp/x",
                           "forward_pass = 'train'",
                           "auth = login(name)",
                           "a basic kernel",
                           "password=None",
                           "key=lambda a: a[0]",
                           "tokens = tokenizer(x)",
                           "x[\"token\"] = ids",
                           "os.environ[\"HF_TOKEN\"] = load(x)",
                           "(\"token\", \"label\")",
                           "[\"token\", \"label\"]",
                           "key=\"model.layers.0.self_attn.weight\"",
                           "f(x[\"token\"], y)",
                           "pass_rate = '3'",
                           "getattr(x, \"token\", y)",
                           "forward_pass: 'x'",
                           "BYPASS = 'x'",
                           "x[\"token\"] == 'y'",
                           "sort(\"key\", \"name\")",
                           "PASSES = 'x'",
                           "CUDADIAG_PASS=record"}) {
    CHECK(text(code) == code);
  }
}

TEST_CASE("every string of JSON is redacted, and in command lines the word after an option") {
  const auto json = nlohmann::json::parse(redaction.json(
      R"({"argv":["x","--token","abc","--lr","3"],"host":"node7","deep":[{"a":"/home/ada/\"q\""}],"n":1})"));
  CHECK(json["argv"] == nlohmann::json::array({"x", "--token", "REDACTED", "--lr", "3"}));
  CHECK(json["host"] == "HOST");
  CHECK(json["deep"][0]["a"] == "~/\"q\"");
  CHECK(json["n"] == 1);
  CHECK(redaction.json("{").empty());
  CHECK(redaction.json(std::string(150, '[') + std::string(150, ']')).size() > 300);
  CHECK(redaction.json(std::string(500000, '[') + std::string(500000, ']')).empty());
}

}  // namespace redaction_test
