/* Stand-in for SDL's header (../README.md). */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#ifdef _WIN32
#define SDLCALL __cdecl
#else
#define SDLCALL
#endif
typedef void *(SDLCALL *SDL_malloc_func)(size_t);
typedef void *(SDLCALL *SDL_calloc_func)(size_t, size_t);
typedef void *(SDLCALL *SDL_realloc_func)(void *, size_t);
typedef void(SDLCALL *SDL_free_func)(void *);
static SDL_malloc_func SDL_malloc;
static SDL_calloc_func SDL_calloc;
static SDL_realloc_func SDL_realloc;
static SDL_free_func SDL_free;
static inline void SDL_GetOriginalMemoryFunctions(SDL_malloc_func *a, SDL_calloc_func *b, SDL_realloc_func *c, SDL_free_func *d) {
    *a = malloc, *b = calloc, *c = realloc, *d = free;
}
static inline bool SDL_SetMemoryFunctions(SDL_malloc_func a, SDL_calloc_func b, SDL_realloc_func c, SDL_free_func d) {
    SDL_malloc = a, SDL_calloc = b, SDL_realloc = c, SDL_free = d;
    return true;
}
