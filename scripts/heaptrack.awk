# Writes what heaptrack_print reads: the same number of events, stacks and live
# blocks as our generated traces, already matched, as heaptrack keeps it.
# Variables: events, stacks, live. (heaptrack 1.4's text format, version 3: hexadecimal
# numbers; s string, i instruction, t trace, a allocation, + and - its blocks.)
BEGIN {
    functions = 5000; fresh = 9 # new frames of a stack
    srand(1)
    print "v 10400 3\nX generated\nI 1000 100000\ns 9 generated"
    for (i = 1; i <= functions; i++)
        printf "s 11 function_%08d\ni %x 1 %x\n", i, 4194304 + i * 16, i + 1
    for (s = 0; s < stacks; s++) {
        parent = nodes ? int(rand() * nodes) : 0
        for (depth = 0; depth < fresh; depth++) {
            printf "t %x %x\n", 1 + int(rand() * functions), parent
            parent = ++nodes
        }
        printf "a %x %x\n", 8 + int(rand() * 1024), nodes
    }
    for (e = 0; e < events; e++) {
        if (count < live && (count < 2 || rand() < 0.52)) {
            block[count++] = allocation = int(rand() * stacks)
            printf "+ %x\n", allocation
        } else {
            i = int(rand() * count)
            allocation = block[i]
            block[i] = block[--count]
            printf "- %x\n", allocation
        }
        if (e % 10000 == 0)
            printf "c %x\n", e / 1000
    }
}
