// What llama.cpp's sampler file needs beside itself to be loaded alone, and a way to DRY's breakers from C.
#include <cstdint>
#include <vector>

struct llama_sampler;
llama_sampler * llama_sampler_init_dry_testing(
    float multiplier, float base, int32_t allowed_length, int32_t last_n, const std::vector<std::vector<int32_t>> & breakers);

extern "C" {
// The empty vocabulary that a DRY sampler without texts is made with.
void _ZN11llama_vocabC1Ev(void *) {}
void _ZN11llama_vocabD1Ev(void *) {}
void _Z18llama_log_internal14ggml_log_levelPKcz(int, const char *, ...) {}

// Breakers come one behind another, each with its length before it.
llama_sampler * dry(float multiplier, float base, int32_t allowed, int32_t last_n, const int32_t * breakers, int32_t count) {
    std::vector<std::vector<int32_t>> list;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t length = *breakers++;
        list.emplace_back(breakers, breakers + length);
        breakers += length;
    }
    return llama_sampler_init_dry_testing(multiplier, base, allowed, last_n, list);
}
}
