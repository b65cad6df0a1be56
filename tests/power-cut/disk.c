/* A disk whose power can be cut at any write.
 *
 *   disk serve IMAGE LOG DIR        serves IMAGE as DIR/disk, over FUSE, until DIR is unmounted; every write and every flush goes to
 *                                   LOG. A loop device on DIR/disk passes on what a file system asks of its disk.
 *   disk count LOG                  how many writes and flushes there are, one line for each: its number, `w` or `f`
 *   disk cut BASE LOG N HOW SEED OUT   OUT becomes BASE as it is on the disk when the power goes after N of them. What was not
 *                                   flushed by then is (HOW) `all` there, `none` of it, or `some`: each sector by lot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECTOR 512
#define LARGEST (1 << 20)
#define FLUSH UINT64_MAX

struct record {
    uint64_t offset; /* FLUSH: no data follow */
    uint32_t length;
} __attribute__((packed));

static char buffer[LARGEST + 65536];

static void die(const char *what) { perror(what); exit(2); }

static void reply(int fuse, uint64_t unique, int error, const void *data, size_t length) {
    struct fuse_out_header head = {sizeof head + (error ? 0 : length), -error, unique};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)data, error ? 0 : length}};
    if (writev(fuse, parts, 2) < 0 && errno != ENOENT) die("reply");
}

static void note(int log, uint64_t offset, uint32_t length, const void *data) {
    struct record record = {offset, length};
    if (write(log, &record, sizeof record) != sizeof record) die("log");
    if (length && write(log, data, length) != (ssize_t)length) die("log");
}

static struct fuse_attr attr_of(uint64_t node, uint64_t size) {
    struct fuse_attr attr = {0};
    attr.ino = node;
    attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0700 : S_IFREG | 0600;
    attr.nlink = 1;
    attr.size = node == FUSE_ROOT_ID ? 0 : size;
    attr.blksize = 4096;
    return attr;
}

static int serve(const char *image_path, const char *log_path, const char *dir) {
    int image = open(image_path, O_RDWR | O_CLOEXEC);
    int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    struct stat stat;
    char options[100];
    if (image < 0 || log < 0 || fuse < 0 || fstat(image, &stat)) die("open");
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,max_read=%d", fuse, LARGEST);
    if (mount("power-cut", dir, "fuse", MS_NOSUID | MS_NODEV, options)) die("mount");
    for (;;) {
        ssize_t got = read(fuse, buffer, sizeof buffer);
        if (got < 0 && (errno == EINTR || errno == ENOENT)) continue;
        if (got < 0 && errno == ENODEV) return 0; /* unmounted */
        if (got < (ssize_t)sizeof(struct fuse_in_header)) die("request");
        struct fuse_in_header *head = (void *)buffer;
        void *body = buffer + sizeof *head;
        switch (head->opcode) {
        case FUSE_INIT: {
            struct fuse_init_out out = {0};
            out.major = FUSE_KERNEL_VERSION;
            out.minor = FUSE_KERNEL_MINOR_VERSION;
            out.max_readahead = 0;
            out.flags = FUSE_BIG_WRITES | FUSE_MAX_PAGES;
            out.max_write = LARGEST;
            out.max_pages = LARGEST / 4096;
            reply(fuse, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_LOOKUP: {
            struct fuse_entry_out out = {0};
            out.nodeid = 2;
            out.attr = attr_of(2, stat.st_size);
            out.attr_valid = out.entry_valid = 1000000;
            reply(fuse, head->unique, strcmp(body, "disk") ? ENOENT : 0, &out, sizeof out);
            break;
        }
        case FUSE_GETATTR:
        case FUSE_SETATTR: {
            struct fuse_attr_out out = {0};
            out.attr = attr_of(head->nodeid, stat.st_size);
            out.attr_valid = 1000000;
            reply(fuse, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_OPEN:
        case FUSE_OPENDIR: {
            struct fuse_open_out out = {0};
            out.open_flags = head->opcode == FUSE_OPEN ? FOPEN_DIRECT_IO : 0;
            reply(fuse, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_READ: {
            struct fuse_read_in *in = body;
            static char data[LARGEST];
            uint32_t size = in->size > LARGEST ? LARGEST : in->size;
            ssize_t read = pread(image, data, size, in->offset);
            reply(fuse, head->unique, read < 0 ? EIO : 0, data, read < 0 ? 0 : read);
            break;
        }
        case FUSE_WRITE: {
            struct fuse_write_in *in = body;
            struct fuse_write_out out = {in->size, 0};
            char *data = (char *)(in + 1);
            if (pwrite(image, data, in->size, in->offset) != (ssize_t)in->size) die("image");
            note(log, in->offset, in->size, data);
            reply(fuse, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_FSYNC:
            note(log, FLUSH, 0, NULL);
            reply(fuse, head->unique, 0, NULL, 0);
            break;
        case FUSE_READDIR:
        case FUSE_FLUSH:
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_ACCESS:
            reply(fuse, head->unique, 0, NULL, 0);
            break;
        case FUSE_STATFS: {
            struct fuse_statfs_out out = {0};
            out.st.bsize = out.st.frsize = 4096;
            out.st.namelen = 255;
            reply(fuse, head->unique, 0, &out, sizeof out);
            break;
        }
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            break;
        case FUSE_DESTROY:
            reply(fuse, head->unique, 0, NULL, 0);
            return 0;
        default:
            reply(fuse, head->unique, ENOSYS, NULL, 0);
        }
    }
}

/* The next record and its data; 0 at the end. */
static int next(FILE *log, struct record *record) {
    if (fread(record, sizeof *record, 1, log) != 1) return 0;
    if (record->length > sizeof buffer) { fputs("log: too long\n", stderr); exit(2); }
    return record->length == 0 || fread(buffer, record->length, 1, log) == 1;
}

static int count(const char *log_path) {
    struct record record;
    FILE *log = fopen(log_path, "r");
    if (!log) die(log_path);
    for (long number = 1; next(log, &record); number++) printf("%ld %c\n", number, record.offset == FLUSH ? 'f' : 'w');
    return 0;
}

static int by_lot(uint64_t *seed) {
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return *seed >> 63;
}

static int cut(const char *base, const char *log_path, long wanted, const char *how, uint64_t seed, const char *out_path) {
    struct record record;
    struct stat stat;
    long flushed = 0;
    FILE *log = fopen(log_path, "r");
    if (!log) die(log_path);
    for (long number = 1; number <= wanted && next(log, &record); number++)
        if (record.offset == FLUSH) flushed = number;
    rewind(log);
    int from = open(base, O_RDONLY), out = open(out_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (from < 0 || out < 0 || fstat(from, &stat) || ftruncate(out, stat.st_size)) die("image");
    for (off_t at = 0; (at = lseek(from, at, SEEK_DATA)) >= 0;) {
        off_t end = lseek(from, at, SEEK_HOLE);
        while (at < end) {
            ssize_t got = pread(from, buffer, end - at < LARGEST ? (size_t)(end - at) : LARGEST, at);
            if (got <= 0 || pwrite(out, buffer, got, at) != got) die("copy");
            at += got;
        }
    }
    for (long number = 1; number <= wanted && next(log, &record); number++) {
        if (record.offset == FLUSH) continue;
        if (number <= flushed || !strcmp(how, "all")) {
            if (pwrite(out, buffer, record.length, record.offset) != (ssize_t)record.length) die("write");
        } else if (!strcmp(how, "some")) {
            /* A whole write is there, or is not, or only some of its sectors are. */
            int whole = by_lot(&seed), there = by_lot(&seed);
            for (uint32_t at = 0; at < record.length; at += SECTOR) {
                uint32_t length = record.length - at < SECTOR ? record.length - at : SECTOR;
                if (!(whole ? there : by_lot(&seed))) continue;
                if (pwrite(out, buffer + at, length, record.offset + at) != (ssize_t)length) die("write");
            }
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "serve")) return serve(argv[2], argv[3], argv[4]);
    if (argc == 3 && !strcmp(argv[1], "count")) return count(argv[2]);
    if (argc == 8 && !strcmp(argv[1], "cut"))
        return cut(argv[2], argv[3], atol(argv[4]), argv[5], strtoull(argv[6], NULL, 10), argv[7]);
    fputs("usage: see the head of disk.c\n", stderr);
    return 2;
}
