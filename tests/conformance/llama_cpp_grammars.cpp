// Grammars of llama.cpp, for texts instead of tokens.
#include "llama-grammar.h"

#include <cstddef>
#include <cstdint>

// What the grammar file needs beside itself; none of it is called without tokens.
void llama_log_internal(ggml_log_level, const char *, ...) {}

extern "C" {
// Returns the grammar, or null if it is refused.
llama_grammar * grammar_new(const char * source) {
    return llama_grammar_init_impl(nullptr, source, "root", false, nullptr, 0, nullptr, 0);
}

void grammar_free(llama_grammar * grammar) { llama_grammar_free_impl(grammar); }

// Returns whether a text of these characters is accepted as a whole.
bool grammar_accepts(const llama_grammar * grammar, const uint32_t * characters, size_t count) {
    llama_grammar * reading = llama_grammar_clone_impl(*grammar);
    for (size_t i = 0; i < count && !llama_grammar_get_stacks(reading).empty(); ++i) {
        llama_grammar_accept(reading, characters[i]);
    }
    bool accepts = false;
    for (const auto & stack : llama_grammar_get_stacks(reading)) {
        accepts |= stack.empty();
    }
    llama_grammar_free_impl(reading);
    return accepts;
}
}
