# A real program's allocations, for scripts/bench.sh: words counted by their beginning, again and again.
use strict;
use warnings;

my (%seen, @kept);
for my $turn (1 .. 6) {
    my @words = map { join "", map { chr(97 + ($_ * 7919 + $turn * 31) % 26) } $_ .. $_ + $_ % 23 } 1 .. 20000;
    push @{ $seen{ substr $_, 0, 3 } }, { word => $_, turn => $turn } for @words;
    push @kept, scalar keys %seen;
    %seen = () if $turn % 4 == 0;
}
print "@kept\n";
