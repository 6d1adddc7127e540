# Writes OUTPUT: a table of {name, json text} of the chip files in FILES.
set(TEXT "#include \"timing/chip_data.h\"\n\nnamespace asmevo::timing {\nnamespace {\nconstexpr EmbeddedChip chips[] = {\n")
foreach(FILE IN LISTS FILES)
  get_filename_component(NAME ${FILE} NAME_WE)
  file(READ ${FILE} CONTENT)
  string(APPEND TEXT "    {\"${NAME}\", R\"json(${CONTENT})json\"},\n")
endforeach()
string(APPEND TEXT "};\n} // namespace\n\nstd::span<const EmbeddedChip> embeddedChips() { return chips; }\n\n} // namespace asmevo::timing\n")
file(WRITE ${OUTPUT} "${TEXT}")
