package Mutate;

# Changes a working tree at random, by seed, as a person would: only what a snapshot has captured is edited, removed or
# replaced, and what is added has a name of its own. So whatever differs after a return is a fault.

use strict;
use warnings;
use Fcntl ':mode';
use Run;

my $state = 1;
sub seed { $state = hex(substr $_[0], 0, 8) | 1 }

sub random {
    my ($below) = @_;
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    return int(($state >> 8) % $below);
}

# Never through a second name of the same file: a clone beside has hard links to the objects.
sub write_file {
    my ($path, $bytes) = @_;
    my @stat = lstat $path;
    unlink $path if @stat && $stat[3] > 1;
    open my $out, '>:raw', $path or return;
    print $out $bytes;
    close $out;
    chmod $stat[2] & 07777, $path if @stat && $stat[3] > 1;
}

# A few steps on the files of $worktree; @captured are paths that a snapshot holds.
sub files {
    my ($worktree, $round, @captured) = @_;
    my %done;
    for my $step (1 .. 3 + random(4)) {
        my $path = @captured ? $captured[random(scalar @captured)] : undef;
        my $full = defined $path ? "$worktree/$path" : undef;
        my $kind = random(10);
        # git reads these, and fsck has its own opinion of what they are and say.
        next if defined $path && $path =~ m{(?:^|/)\.(?:git\w*|mailmap)\z}i && ($path =~ /modules\z/i || $kind < 5);
        if (!defined $path || $kind == 0 || $done{$path}++) {
            my $where = $worktree;
            if ($kind % 2) { $where = "$worktree/rig-dir-$round"; mkdir $where }
            write_file("$where/rig-new-$round-$step", "new $round $step\n");
            chmod 0755, "$where/rig-new-$round-$step" if $kind == 4;
            next;
        }
        my @stat = lstat $full or next;
        if ($kind == 1) {
            unlink $full;
            (my $parent = $full) =~ s{/[^/]*\z}{};
            rmdir $parent if $parent ne $worktree;
        }
        elsif ($kind == 2) { unlink $full; symlink "rig-target-$round", $full }
        elsif ($kind == 3) {
            unlink $full;
            mkdir $full;
            write_file("$full/rig-inner-$round", "inner $round\n");
        }
        elsif (S_ISLNK($stat[2])) { unlink $full; write_file($full, "was a link $round\n") }
        elsif (!S_ISREG($stat[2])) { next }
        elsif ($stat[3] > 1 && ($kind == 4 || $kind == 5)) { next }
        elsif ($kind == 4) { chmod(($stat[2] & 07777) ^ 0111, $full) }
        elsif ($kind == 5) { chmod 0600, $full }
        elsif ($kind == 6) {    # other bytes, same size, in place
            my $bytes = Tree::bytes($full) // next;
            write_file($full, scalar reverse $bytes);
        }
        else {
            my $bytes = Tree::bytes($full) // next;
            write_file($full, "${bytes}edit $round $step\n");
        }
    }
}

# A few steps on the index and HEAD by plain git; what git refuses in this state is no matter.
sub staging {
    my ($round, @captured) = @_;
    for (1 .. random(3)) {
        my $path = @captured ? $captured[random(scalar @captured)] : '.';
        my $kind = random(8);
        if    ($kind < 2)  { Run::git_change('add', '-A', '--', ":(literal)$path") }
        elsif ($kind == 2) { Run::git_change('add', '-A') }
        elsif ($kind == 3) { Run::git_change('rm', '-q', '--cached', '--', ":(literal)$path") }
        elsif ($kind == 4) { Run::git_change('add', '-N', '.') }
        elsif ($kind == 5) { Run::git_change('reset', '-q') if $round eq 'past' }
        else               { Run::git_change('commit', '-q', '--no-verify', '-m', "rig $round") if $round eq 'past' }
    }
}

1;
