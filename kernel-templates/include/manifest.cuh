// What an instance was compiled for, readable by its loader: the numbers of its parameters, in the order of TEMPLATE.toml.
#pragma once

#define TENON_MANIFEST(instance, ...) \
    extern "C" __device__ const unsigned instance##_manifest[] = {__VA_ARGS__};

// A parameter that is a name stands in the manifest as the number of its text (FNV-1a, 32 bits).
__host__ __device__ constexpr unsigned name_number(const char* text) {
    unsigned hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619u;
    return hash;
}
