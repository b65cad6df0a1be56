package Tree;

# What is on disk, read without git and without tw: every path below a directory with type, mode, bytes and stamps, and
# the parts of a repository that make up its state. Nothing here writes.

use strict;
use warnings;
use Digest::SHA qw(sha1_hex);
use Fcntl ':mode';
use Time::HiRes ();

# Whole content of a regular file, or undef.
sub bytes {
    my ($path) = @_;
    open my $in, '<:raw', $path or return undef;
    local $/;
    my $all = <$in>;
    return defined $all ? $all : '';
}

# Walks below $root without following links and calls $visit->($relative, \@lstat, $full) for every path but $root.
# What $enter->($relative, $full) denies is not walked.
sub walk {
    my ($root, $visit, $enter) = @_;
    my @queue = ('');
    while (@queue) {
        my $at = pop @queue;
        my $full = $at eq '' ? $root : "$root/$at";
        opendir my $dir, $full or next;
        my @names = sort grep { $_ ne '.' && $_ ne '..' } readdir $dir;
        closedir $dir;
        for my $name (@names) {
            my $path = $at eq '' ? $name : "$at/$name";
            my @stat = Time::HiRes::lstat("$root/$path") or next;
            $visit->($path, \@stat, "$root/$path");
            next unless S_ISDIR($stat[2]);
            push @queue, $path if !$enter || $enter->($path, "$root/$path");
        }
    }
}

# One line that says what a path is: type, permission bits, and content where there is any. What $same, if given, makes of
# content and of what a link names stands for them.
sub facts {
    my ($stat, $full, $same) = @_;
    $same //= sub { $_[0] };
    my $mode = sprintf '%04o', $stat->[2] & 07777;
    return "dir $mode" if S_ISDIR($stat->[2]);
    return 'link ' . $same->(readlink($full) // '?') if S_ISLNK($stat->[2]);
    return sprintf 'special %o', $stat->[2] unless S_ISREG($stat->[2]);
    my $all = bytes($full);
    return "file $mode " . (defined $all ? sha1_hex($same->($all)) : 'unreadable');
}

# Everything below $root: path => [facts, "inode mtime"].
sub manifest {
    my ($root) = @_;
    my %all;
    walk($root, sub {
        my ($path, $stat, $full) = @_;
        $all{$path} = [facts($stat, $full), "$stat->[1] $stat->[9]"];
    });
    return \%all;
}

# The directory that git works in for the `.git` of a working tree, and the one it shares with others.
sub git_dirs {
    my ($worktree) = @_;
    my $git = "$worktree/.git";
    if (-f $git) {
        my ($to) = (bytes($git) // '') =~ /\Agitdir: (.+?)\n*\z/s or return;
        $git = $to =~ m{^/} ? $to : "$worktree/$to";
    }
    return unless -e "$git/HEAD" || -l "$git/HEAD";
    my $common = $git;
    if (-f "$git/commondir") {
        (my $to = bytes("$git/commondir")) =~ s/\n+\z//;
        $common = $to =~ m{^/} ? $to : "$git/$to";
    }
    return ($git, $common);
}

# An index with the stat data taken out, so that two runs of a test make the same state.
sub index_facts {
    my ($all) = @_;
    return 'none' unless defined $all;
    my ($magic, $version, $count) = unpack 'a4NN', $all;
    return $all if !$count || $magic ne 'DIRC' || $version > 4;
    my $at = 12;
    my $facts = "$version $count";
    for (1 .. $count) {
        return $all if $at + 62 > length $all;
        my ($mode, $size, $oid, $flags) = unpack 'x24 N x8 N H40 n', substr $all, $at, 62;
        my $head = $version > 2 && $flags & 0x4000 ? 64 : 62;
        my $more = $head == 64 ? unpack('n', substr $all, $at + 62, 2) : 0;
        my $strip = '';
        my $name_at = $at + $head;
        if ($version == 4) {
            $strip .= substr($all, $name_at, 1) while ord(substr($all, $name_at++, 1)) & 0x80;
        }
        my $end = index $all, "\0", $name_at;
        return $all if $end < 0;
        $facts .= sprintf "\n%o %d %s %x %x %s %s", $mode, $size, $oid, $flags, $more, unpack('H*', $strip),
            substr $all, $name_at, $end - $name_at;
        $at = $version == 4 ? $end + 1 : $at + (($end - $at + 8) & ~7);
    }
    while ($at + 28 <= length $all) {
        my ($name, $size) = unpack 'a4N', substr $all, $at, 8;
        my $stamped = $name eq 'UNTR' || $name eq 'FSMN';
        $facts .= "\n$name " . ($stamped ? '' : unpack 'H*', substr $all, $at + 8, $size);
        $at += 8 + $size;
    }
    return $facts;
}

# Parts of a git directory that are no state: objects and what only tells of the past or the future.
my $NO_STATE = qr{^(?:objects|logs|hooks|modules|branches|timewarp|lost-found|worktrees)(?:/|$)
    |^(?:index|description|COMMIT_EDITMSG|FETCH_HEAD|gc\.log|trace.*)$}x;

# A digest of refs, index, files, HEAD, configuration and operation files of the repository at $worktree. Neither the path
# $room of the run is part of it, wherever it stands, nor stat data, in another repository's index neither.
sub digest {
    my ($worktree, $room) = @_;
    my ($git, $common) = git_dirs($worktree) or return;
    my $same = sub { $_[0] =~ /\ADIRC/ ? index_facts($_[0]) : $_[0] =~ s/\Q$room\E/ROOM/gr };
    my $sha = Digest::SHA->new(1);
    my %is_own = map { (stat $_)[1] // 0, 1 } $git, $common;
    walk($worktree, sub {
        my ($path, $stat, $full) = @_;
        return if $path eq '.git' && S_ISDIR($stat->[2]);
        $sha->add("$path ", facts($stat, $full, $same), "\n");
    }, sub {
        my ($path, $full) = @_;
        return 0 if $is_own{ (stat $full)[1] // 0 };
        return 1 unless -e "$full/.git" || -l "$full/.git";
        my ($inner) = git_dirs($full);
        $sha->add("nested $path ", $inner ? $same->(bytes("$inner/HEAD") // '') : '', "\n");
        return 0;
    });
    for my $dir ($git eq $common ? $git : ($git, $common)) {
        walk($dir, sub {
            my ($path, $stat, $full) = @_;
            return if $path =~ $NO_STATE && $path !~ m{^objects/info/alternates$};
            return if S_ISDIR($stat->[2]) && $path !~ /^(?:rebase|sequencer)/;
            $sha->add("$path ", facts($stat, $full, $same), "\n");
        }, sub { $_[0] !~ $NO_STATE || $_[0] =~ m{^objects(?:/info)?$} });
    }
    $sha->add(index_facts(bytes("$git/index")));
    return $sha->hexdigest;
}

1;
