// What a C++ runtime brings along: operator new, and the way from the entry point to Main.
#include "program.h"

KEEP ALLOCATOR void* operator new(size_t size) {
    return _malloc_base(size);
}

KEEP void operator delete(void* block) noexcept {
    _free_base(block);
}

extern "C" int _fltused = 0; // wanted by whatever uses floating point

static size_t at_exit[3];

static int FlushNothing() {
    return 0;
}

KEEP static int pre_c_initialization() {
    _register_onexit_function(at_exit, FlushNothing);
    _configure_narrow_argv(1);
    return _initialize_narrow_environment();
}

extern "C" KEEP int __scrt_common_main_seh() {
    if (int failure = pre_c_initialization()) return failure;
    return Main();
}
