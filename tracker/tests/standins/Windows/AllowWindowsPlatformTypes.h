// Stand-in for Unreal's header (../README.md): nothing to guard.
