#include "cli/command.h"

int main(int argc, char** argv) {
  return asmevo::cli::runCommandLine(argc, argv);
}
