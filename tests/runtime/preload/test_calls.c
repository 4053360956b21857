/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of the C library when the library is preloaded. The library starts adverbd. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000 /* a call that takes longer hangs */

#define CLASS	    "/sys/class/infiniband"
#define IBDEV	    CLASS "/adverb0"
#define DEVICE	    "/sys/devices/adverb"
#define TYPE	    IBDEV "/node_type"
#define NODE	    "/dev/infiniband/uverbs0"

static void assert_text(int fd, const char *text)
{
	char there[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, there, sizeof(there) - 1), strlen(text));
	assert_string_equal(there, text);
	close(fd);
}

static void opens(void **state)
{
	FILE *f;

	assert_text(open(TYPE, O_RDONLY), "1: CA\n");
	assert_text(open64(TYPE, O_RDONLY), "1: CA\n");
	assert_text(openat(AT_FDCWD, TYPE, O_RDONLY), "1: CA\n");
	assert_text(openat64(-1, TYPE, O_RDONLY), "1: CA\n");
	f = fopen(TYPE, "r");
	assert_non_null(f);
	assert_text(dup(fileno(f)), "1: CA\n");
	fclose(f);
	f = fopen64(TYPE, "re");
	assert_non_null(f);
	fclose(f);
}

static void refuses_writing(void **state)
{
	struct stat st;

	errno = 0;
	assert_int_equal(open(TYPE, O_RDWR), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(open(IBDEV "/new", O_WRONLY | O_CREAT, 0600), -1);
	assert_int_equal(errno, EACCES);
	assert_null(fopen(TYPE, "r+"));
	assert_int_equal(errno, EACCES);
	assert_int_equal(access(TYPE, W_OK), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(stat(TYPE, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0444);
}

static void all_stats_agree(void **state)
{
	struct stat a, b;
	struct stat64 c;
	struct statx x;

	assert_int_equal(stat(TYPE, &a), 0);
	assert_int_equal(lstat(TYPE, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(stat64(TYPE, &c), 0);
	assert_int_equal(a.st_ino, c.st_ino);
	assert_int_equal(fstatat(AT_FDCWD, TYPE, &b, 0), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(statx(AT_FDCWD, TYPE, 0, STATX_BASIC_STATS, &x), 0);
	assert_int_equal(a.st_ino, x.stx_ino);
	assert_int_equal(a.st_mode, x.stx_mode);
	assert_int_equal(lstat(IBDEV, &a), 0);
	assert_true(S_ISLNK(a.st_mode));
	assert_int_equal(stat(IBDEV, &a), 0);
	assert_true(S_ISDIR(a.st_mode));
	assert_int_equal(faccessat(AT_FDCWD, TYPE, R_OK, AT_EACCESS), 0);
	assert_int_equal(euidaccess(TYPE, R_OK), 0);
}

/* The device has the nodes that UCX requires. */
static void has_nodes(void **state)
{
	char dev[32] = "", numbers[32], *real;
	struct stat st;
	struct statx x;
	int fd = open("/sys/class/infiniband_verbs/uverbs0/dev", O_RDONLY);

	assert_true(read(fd, dev, sizeof(dev) - 1) > 0);
	close(fd);
	assert_int_equal(stat(NODE, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	snprintf(numbers, sizeof(numbers), "%u:%u\n", major(st.st_rdev), minor(st.st_rdev));
	assert_string_equal(numbers, dev);
	assert_int_equal(lstat(NODE, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(statx(AT_FDCWD, NODE, 0, STATX_BASIC_STATS, &x), 0);
	assert_int_equal(makedev(x.stx_rdev_major, x.stx_rdev_minor), st.st_rdev);
	assert_int_equal(access(NODE, R_OK | W_OK), 0);
	assert_int_equal(access("/dev/infiniband/rdma_cm", R_OK | W_OK), 0);
	assert_int_equal(access("/dev/infiniband/uverbs1", F_OK), -1);
	/* The node has no driver in the kernel: opening it fails with ENXIO. */
	assert_int_equal(open(NODE, O_RDWR), -1);
	assert_int_equal(errno, ENXIO);
	real = realpath(NODE, NULL);
	assert_string_equal(real, NODE);
	free(real);
}

static void follows_links(void **state)
{
	char text[PATH_MAX] = "";

	assert_int_equal(readlink(IBDEV, text, sizeof(text)), 39);
	assert_string_equal(text, "../../devices/adverb/infiniband/adverb0");
	assert_string_equal(realpath(IBDEV "/device", text), DEVICE);
	assert_string_equal(realpath(IBDEV "/ports/../device/infiniband/", text),
			    DEVICE "/infiniband");
	assert_string_equal(realpath(IBDEV "/device/net/lo/address", text),
			    "/sys/devices/virtual/net/lo/address");
	assert_null(realpath(IBDEV "/none", text));
	assert_int_equal(errno, ENOENT);
	/* A link out of the tree leads to a file of the kernel, with its mode. */
	assert_int_equal(access(IBDEV "/device/net/lo/mtu", R_OK), 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void lists(void **state)
{
	struct dirent **list = NULL;
	int n = scandir(CLASS "/", &list, NULL, by_name);
	DIR *d = opendir(IBDEV "/ports/1");
	bool state_seen = false;
	glob_t g;

	assert_int_equal(n, 3);
	assert_string_equal(list[2]->d_name, "adverb0");
	while (n)
		free(list[--n]);
	free(list);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		state_seen = state_seen || strcmp(e->d_name, "state") == 0;
	assert_true(state_seen);
	closedir(d);
	assert_int_equal(glob(CLASS "/*/ports/*/stat[e]", 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 1);
	assert_string_equal(g.gl_pathv[0], IBDEV "/ports/1/state");
	globfree(&g);
	assert_int_equal(glob("/dev/infiniband/uverbs*", 0, NULL, &g), 0);
	assert_string_equal(g.gl_pathv[0], NODE);
	globfree(&g);
}

static void goes_into_folders(void **state)
{
	int before = open(".", O_RDONLY | O_DIRECTORY);
	char path[PATH_MAX], small[4];
	struct stat st;

	assert_int_equal(chdir(CLASS), 0);
	assert_string_equal(getcwd(path, sizeof(path)), CLASS);
	assert_null(getcwd(small, sizeof(small)));
	assert_int_equal(errno, ERANGE);
	assert_text(open("adverb0/node_type", O_RDONLY), "1: CA\n");
	assert_int_equal(access("../net/lo/address", R_OK), 0);
	assert_int_equal(access("../../../dev/infiniband/uverbs0", R_OK | W_OK), 0);
	assert_int_equal(stat("../../../dev/null", &st), 0);
	assert_int_equal(chdir("adverb0/device"), 0);
	assert_string_equal(getcwd(path, sizeof(path)), DEVICE);
	assert_int_equal(access("../../class/infiniband/adverb0", F_OK), 0);
	assert_int_equal(access("../virtual", F_OK), 0);
	assert_int_equal(chdir("../.."), 0);
	assert_string_equal(getcwd(path, sizeof(path)), "/sys");
	assert_int_equal(fchdir(before), 0);
	close(before);
	assert_null(strstr(getcwd(path, sizeof(path)), "/sys/"));
	assert_int_equal(access("adverb0/node_type", F_OK), -1);
}

/* Relative paths from the folders above the redirected ones, which the kernel may not have. */
static void starts_above(void **state)
{
	static const char *const starts[][2] = {
		{"/", "sys/class/infiniband/adverb0/node_type"},
		{"/sys", "class/infiniband/adverb0/node_type"},
		{"/sys/class", "infiniband/adverb0/node_type"},
		{"/sys/class", "./net/../infiniband/adverb0/node_type"},
		{"/sys/devices", "adverb/infiniband/adverb0/node_type"},
		{"/dev", "../sys/class/infiniband/adverb0/node_type"},
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		int dir = open(starts[i][0], O_RDONLY | O_DIRECTORY);

		assert_int_equal(chdir(starts[i][0]), 0);
		assert_text(open(starts[i][1], O_RDONLY), "1: CA\n");
		assert_int_equal(chdir("/proc"), 0);
		assert_int_equal(access(starts[i][1], F_OK), -1);
		assert_text(openat(dir, starts[i][1], O_RDONLY), "1: CA\n");
		close(dir);
		dir = dup(open(starts[i][0], O_RDONLY)); /* a copy, opened without O_DIRECTORY */
		assert_text(openat(dir, starts[i][1], O_RDONLY), "1: CA\n");
		close(dir);
	}
	assert_int_equal(chdir("/dev"), 0);
	assert_int_equal(access("infiniband/uverbs0", R_OK | W_OK), 0);
	assert_int_equal(access("null", R_OK | W_OK), 0);
	assert_int_equal(chdir("/"), 0);
}

static void works_from_descriptors(void **state)
{
	int dir = open(IBDEV, O_RDONLY | O_DIRECTORY), nodes;
	char text[PATH_MAX] = "", name[32];
	struct stat st;

	assert_true(dir >= 0);
	assert_text(openat(dir, "node_type", O_RDONLY), "1: CA\n");
	assert_int_equal(openat(dir, "node_type", O_WRONLY), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(fstatat(dir, "ports/1", &st, 0), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(readlinkat(dir, "device", text, sizeof(text)), 15);
	assert_int_equal(faccessat(dir, "../../../virtual/net/lo", F_OK, 0), 0);
	assert_int_equal(fchdir(dir), 0);
	assert_string_equal(getcwd(text, sizeof(text)), DEVICE "/infiniband/adverb0");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", dir);
	text[readlink(name, text, sizeof(text) - 1)] = 0;
	assert_string_equal(text, DEVICE "/infiniband/adverb0");
	close(dir);
	nodes = open("/dev/infiniband", O_RDONLY | O_DIRECTORY);
	assert_int_equal(fstatat(nodes, "uverbs0", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISCHR(st.st_mode));
	close(nodes);
	assert_int_equal(chdir("/"), 0);
}

/* For unusual paths the results are the same as without the preloaded library. */
static void takes_odd_paths(void **state)
{
	char longest[PATH_MAX + 100], text[PATH_MAX];
	const char *volatile null = NULL;
	struct stat st;

	errno = 0;
	assert_int_equal(open(null, O_RDONLY), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(stat(null, &st), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(access(null, F_OK), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(chdir(null), -1);
	assert_int_equal(errno, EFAULT);
	assert_null(realpath(null, text));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(open("", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(open(TYPE "/", O_RDONLY), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(open(CLASS "/none", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	memset(longest, '/', sizeof(longest));
	memcpy(longest, TYPE, strlen(CLASS));
	memcpy(longest + sizeof(longest) - sizeof("adverb0"), "adverb0", sizeof("adverb0"));
	assert_int_equal(stat(longest, &st), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	/* The path fits into PATH_MAX, but not with the path of the tree in front. */
	memset(longest, 'a', PATH_MAX - 1);
	memcpy(longest, CLASS "/", strlen(CLASS "/"));
	longest[PATH_MAX - 1] = 0;
	assert_int_equal(stat(longest, &st), -1);
	assert_true(errno == ENAMETOOLONG || errno == ENOENT);
	assert_text(open("//sys/class/.//infiniband/../infiniband/adverb0/node_type", O_RDONLY),
		    "1: CA\n");
}

static void keeps_errno(void **state)
{
	errno = EXDEV;
	assert_text(open(TYPE, O_RDONLY), "1: CA\n");
	assert_int_equal(errno, EXDEV);
	assert_int_equal(access(TYPE, R_OK), 0);
	assert_int_equal(access("/dev/null", R_OK), 0);
	assert_int_equal(errno, EXDEV);
}

/* For paths that are not redirected the functions allocate no memory: a program may call them in a
 * signal handler, or between vfork() and exec(). */
static void touches_nothing_for_others(void **state)
{
	struct mallinfo2 before, after;
	struct stat st;
	int fd;

	assert_int_equal(stat("/sys/class/net/lo", &st), 0);
	before = mallinfo2();
	for (int i = 0; i < 100; i++) {
		fd = open("/dev/null", O_RDONLY);
		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(stat("/sys/class/net/lo", &st), 0);
		assert_int_equal(access("../dev/null", R_OK), 0);
	}
	after = mallinfo2();
	assert_int_equal(before.uordblks, after.uordblks);
	assert_int_equal(open("/sys/class/net/lo/none", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
}

static volatile sig_atomic_t alarms, alarms_failed;

static void on_alarm(int signal_number)
{
	struct stat st;
	int fd = open("/dev/null", O_RDONLY);

	alarms++;
	if (fd < 0 || stat("/sys/class/net", &st) < 0 || access("/dev/null", R_OK) < 0)
		alarms_failed++;
	close(fd);
}

static void stands_signals(void **state)
{
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 200; i++)
		assert_text(open(TYPE, O_RDONLY), "1: CA\n");
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(alarms > 0);
	assert_int_equal(alarms_failed, 0);
}

static void *read_often(void *failed)
{
	for (int i = 0; i < 50; i++) {
		char text[16] = "";
		int fd = open(TYPE, O_RDONLY);

		if (fd < 0 || read(fd, text, sizeof(text)) != 6 || strcmp(text, "1: CA\n") != 0)
			__atomic_fetch_add((int *)failed, 1, __ATOMIC_RELAXED);
		close(fd);
	}
	return NULL;
}

static void stands_threads_and_children(void **state)
{
	pthread_t threads[4];
	pid_t children[4];
	int failed = 0, status;

	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, &failed), 0);
		children[i] = fork();
		if (children[i] == 0) {
			read_often(&failed);
			_exit(failed != 0);
		}
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(failed, 0);
}

static void children_see_it(void **state)
{
	pid_t child = vfork();
	int status;

	if (child == 0) {
		if (chdir(IBDEV) < 0)
			_exit(2);
		execl("/bin/sh", "sh", "-c",
		      "test \"$(cat node_type)\" = '1: CA' && test \"$(ls ..)\" = adverb0 &&"
		      "test -c " NODE " -a -r " NODE " -a -w " NODE " && cd ports/1 &&"
		      "test \"$(cat ../../node_type)\" = '1: CA'",
		      (char *)NULL);
		_exit(3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool appears(const char *path, bool wanted)
{
	const struct timespec pause = {0, 20000000};

	for (int ms = 0; ms < PATIENCE_MS; ms += 20) {
		if ((access(path, F_OK) == 0) == wanted)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void follows_addresses(void **state)
{
	assert_true(appears(IBDEV "/ports/1/gids/1", true));
	assert_int_equal(access(IBDEV "/ports/1/gids/2", F_OK), -1);
	assert_int_equal(system("ip addr add 192.0.2.77/32 dev lo"), 0);
	assert_true(appears(IBDEV "/ports/1/gids/2", true));
	assert_true(appears(IBDEV "/ports/1/gid_attrs/types/2", true));
	assert_int_equal(system("ip addr del 192.0.2.77/32 dev lo"), 0);
	assert_true(appears(IBDEV "/ports/1/gids/2", false));
	assert_int_equal(access(IBDEV "/ports/1/gid_attrs/ndevs/2", F_OK), -1);
}

/* An open descriptor reads the present state of the port. */
static void open_files_are_up_to_date(void **state)
{
	const struct timespec pause = {0, 20000000};
	int fd = open(IBDEV "/ports/1/state", O_RDONLY);
	char text[32] = "";

	assert_int_equal(read(fd, text, sizeof(text)), 10);
	assert_string_equal(text, "4: ACTIVE\n");
	assert_int_equal(read(fd, text, sizeof(text)), 0);
	assert_int_equal(system("ip link set lo down"), 0);
	for (int ms = 0; ms < PATIENCE_MS && strncmp(text, "1: DOWN\n", 8) != 0; ms += 20) {
		nanosleep(&pause, NULL);
		fd = close(fd) == 0 ? open(IBDEV "/ports/1/state", O_RDONLY) : -1;
		assert_true(read(fd, text, sizeof(text)) > 0);
	}
	assert_memory_equal(text, "1: DOWN\n", 8);
	assert_int_equal(system("ip link set lo up"), 0);
	for (int ms = 0; ms < PATIENCE_MS && strncmp(text, "4: ACTIVE\n", 10) != 0; ms += 20) {
		nanosleep(&pause, NULL);
		assert_true(pread(fd, text, sizeof(text), 0) > 0);
	}
	assert_memory_equal(text, "4: ACTIVE\n", 10);
	close(fd);
}

static void tree_path(char path[PATH_MAX], const char *file)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	snprintf(path, PATH_MAX, "%s/adverb-sysfs-%u-%lu/%s", getenv("XDG_RUNTIME_DIR"),
		 (unsigned)geteuid(), (unsigned long)st.st_ino, file);
}

/* Returns the time at which the last update of the tree began, ns. */
static uint64_t last_update(void)
{
	char path[PATH_MAX];
	uint64_t began = 0;
	int fd;

	tree_path(path, ".lock");
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &began, sizeof(began)), sizeof(began));
	close(fd);
	return began;
}

static uint64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Files other than counters may be 50 ms old: a program that opens many does not update the tree
 * for each. */
static void updates_seldom(void **state)
{
	uint64_t began = clock_ms(), last = 0, updates = 0;

	for (unsigned i = 0; i < 500; i++) {
		assert_text(open(TYPE, O_RDONLY), "1: CA\n");
		updates += last_update() != last;
		last = last_update();
	}
	assert_in_range(updates, 1, 2 + (clock_ms() - began) / 50);
}

/* Processes share the updates. */
static void shares_updates(void **state)
{
	uint64_t began = clock_ms(), updates;
	char path[PATH_MAX], command[2 * PATH_MAX], text[32] = "";
	FILE *f;

	tree_path(path, ".lock");
	snprintf(command, sizeof(command),
		 "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5; do "
		 "cat " TYPE " >/dev/null; od -An -tx8 \"%s\"; done; done | sort -u | wc -l",
		 path);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_int_equal(pclose(f), 0);
	updates = strtoull(text, NULL, 10);
	assert_in_range(updates, 1, 2 + (clock_ms() - began) / 50);
}

static void counters_are_up_to_date(void **state)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < 10; i++) {
		int fd = open(IBDEV "/ports/1/counters/port_xmit_data", O_RDONLY);

		assert_true(fd >= 0);
		close(fd);
		assert_true(last_update() > last);
		last = last_update();
	}
}

/* Removes the tree. Otherwise nothing may ever remove it: no later process may have a network
 * namespace of this number. */
static int remove_tree(void **state)
{
	char path[PATH_MAX], command[2 * PATH_MAX];

	tree_path(path, "");
	snprintf(command, sizeof(command), "rm -rf \"%s\"", path);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens),
		cmocka_unit_test(refuses_writing),
		cmocka_unit_test(all_stats_agree),
		cmocka_unit_test(has_nodes),
		cmocka_unit_test(follows_links),
		cmocka_unit_test(lists),
		cmocka_unit_test(goes_into_folders),
		cmocka_unit_test(starts_above),
		cmocka_unit_test(works_from_descriptors),
		cmocka_unit_test(takes_odd_paths),
		cmocka_unit_test(keeps_errno),
		cmocka_unit_test(touches_nothing_for_others),
		cmocka_unit_test(stands_signals),
		cmocka_unit_test(stands_threads_and_children),
		cmocka_unit_test(children_see_it),
		cmocka_unit_test(follows_addresses),
		cmocka_unit_test(open_files_are_up_to_date),
		cmocka_unit_test(updates_seldom),
		cmocka_unit_test(shares_updates),
		cmocka_unit_test(counters_are_up_to_date),
	};

	return cmocka_run_group_tests(tests, NULL, remove_tree);
}
