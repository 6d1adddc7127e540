#include "agent/chat_client.h"
#include "agent/scripted_server.h"

#include <gtest/gtest.h>

namespace asmevo::agent {
namespace {

using nlohmann::json;
using tests::ScriptedServer;

Endpoint endpointOf(const ScriptedServer& server) {
  return {server.baseUrl(), "some-model", "secret-key", 10};
}

TEST(ChatClient, SendsTheRequestAndReturnsTheMessage) {
  ScriptedServer server({{200, R"({"choices":[{"message":{"role":"assistant","content":"done"}}]})"}});
  const auto message =
      complete(endpointOf(server), json::array({{{"role", "user"}, {"content", "hi"}}}), json::array());
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ((*message)["content"], "done");
  ASSERT_EQ(server.requests().size(), 1u);
  const std::string request = server.requests()[0];
  EXPECT_EQ(request.rfind("POST /v1/chat/completions HTTP/1.1", 0), 0u);
  EXPECT_NE(request.find("Authorization: Bearer secret-key"), std::string::npos);
  const json body = json::parse(request.substr(request.find("\r\n\r\n") + 4));
  EXPECT_EQ(body["model"], "some-model");
  EXPECT_EQ(body["messages"][0]["content"], "hi");
  EXPECT_FALSE(body.contains("tools"));
}

TEST(ChatClient, BadAnswersAreErrorsThatNeverNameTheKey) {
  const std::vector<tests::ScriptedAnswer> answers = {{500, "overloaded"},
                                                      {200, "not json"},
                                                      {200, R"({"choices":[]})"},
                                                      {200, R"({"choices":[{"message":3}]})"},
                                                      {302, ""},
                                                      {200, "[]"},
                                                      {200, std::string((std::size_t{8} << 20) + 1, 'x')}};
  ScriptedServer server(answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto message = complete(endpointOf(server), json::array(), json::array());
    ASSERT_FALSE(message) << "answer " << i;
    EXPECT_EQ(message.error().message.find("secret-key"), std::string::npos);
    EXPECT_NE(message.error().message.find(server.baseUrl()), std::string::npos);
  }
}

TEST(ChatClient, OnlyHttpEndpoints) {
  const auto message = complete({"file:///etc", "m", "", 5}, json::array(), json::array());
  EXPECT_FALSE(message);
}

} // namespace
} // namespace asmevo::agent
