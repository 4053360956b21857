/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Starts adverbd through an intermediate process. The intermediate process shares this process's
 * memory, as with vfork(), and has no exit signal. It starts adverbd as its own child and ends.
 * Only a wait with __WCLONE reaps it, as in this file.
 */
#include "runtime/control/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/sys.h"
#include "runtime/control/protocol.h"

#define START_WAIT_MS 15000
#define READY_FD      3
#define CARRIER_FD    4
#define STACK_LEN     65536

struct adv_control_starter {
	char path[PATH_MAX];
	char **environment;
};

struct start {
	char *const *argv;
	char *const *envp;
	char *stack; /* stack of adverbd's process until its execve() */
	int ready_fd;
	int carrier_fd;	    /* -1: none */
	volatile int error; /* errno of the children, which share this memory */
};

static bool is_executable(const char *path)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

/* Writes the path of the file that contains this code: a library, or the program. 0 or errno. */
static int own_file(char *path)
{
	struct link_map *map = NULL;
	Dl_info info;
	ssize_t n;

	if (!dladdr1((void *)(uintptr_t)own_file, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return ENOENT;
	if (map->l_name[0])
		return snprintf(path, PATH_MAX, "%s", map->l_name) < PATH_MAX ? 0 : ENAMETOOLONG;
	n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	if (n < 0)
		return errno;
	path[n] = 0;
	return 0;
}

int adv_control_daemon_path(char *path)
{
	/* Paths relative to the folder of own_file(): build/, build/lib/; then those of an
	 * installed program and an installed library. */
	static const char *const beside[] = {"adverbd", "../adverbd", ADV_DAEMON_FROM_BIN,
					     ADV_DAEMON_FROM_LIB};
	const char *given = secure_getenv("ADVERB_DAEMON");
	char own[PATH_MAX];
	char *slash;

	if (given && *given)
		return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX ? 0 : ENAMETOOLONG;
	slash = own_file(own) == 0 ? strrchr(own, '/') : NULL;
	for (size_t i = 0; slash && i < ADV_ARRAY_SIZE(beside); i++) {
		slash[1] = 0;
		if (snprintf(path, PATH_MAX, "%s%s", own, beside[i]) < PATH_MAX &&
		    is_executable(path))
			return 0;
	}
	snprintf(path, PATH_MAX, "%s", ADV_LIBEXECDIR "/adverbd");
	return is_executable(path) ? 0 : ENOENT;
}

/* False for variables that name libraries of the application. */
static bool for_daemon(const char *variable)
{
	return strncmp(variable, "LD_PRELOAD=", 11) != 0 &&
	       strncmp(variable, "LD_LIBRARY_PATH=", 16) != 0 &&
	       strncmp(variable, "LD_AUDIT=", 9) != 0;
}

/* Returns a copy of the environment for adverbd, as the application may change its environment. It
 * is one allocation: the pointers, then their strings. */
static char **daemon_environment(void)
{
	size_t n = 0, len = 0, kept = 0;
	char **copy, *text;

	for (; environ && environ[n]; n++)
		len += strlen(environ[n]) + 1;
	copy = malloc((n + 1) * sizeof(*copy) + len);
	if (!copy)
		return NULL;
	text = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++) {
		if (!for_daemon(environ[i]))
			continue;
		copy[kept++] = strcpy(text, environ[i]);
		text += strlen(text) + 1;
	}
	copy[kept] = NULL;
	return copy;
}

/* Gives the descriptors for adverbd the numbers in its options: READY_FD and CARRIER_FD. */
static bool number_descriptors(const struct start *s)
{
	/* First copies both to higher numbers: one of them may have the other's final number. */
	long ready = syscall(SYS_fcntl, s->ready_fd, F_DUPFD, CARRIER_FD + 1);
	long carrier =
		s->carrier_fd < 0 ? -1 : syscall(SYS_fcntl, s->carrier_fd, F_DUPFD, CARRIER_FD + 1);

	if (ready < 0 || syscall(SYS_dup3, ready, READY_FD, 0) < 0)
		return false;
	return s->carrier_fd < 0 ||
	       (carrier >= 0 && syscall(SYS_dup3, carrier, CARRIER_FD, 0) >= 0);
}

/* Runs in adverbd's process and executes adverbd. All signals are blocked; execve() resets their
 * handlers. */
static int exec_daemon(void *p)
{
	struct start *s = p;
	long null;

	if (!number_descriptors(s))
		goto failed;
	null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	/* If /dev/null cannot be opened, closes descriptors 0 to 2: adverbd must not inherit the
	 * application's. */
	for (int fd = 0; fd < 3; fd++) {
		if (null < 0)
			syscall(SYS_close, fd);
		else if (null != fd && syscall(SYS_dup3, null, fd, 0) < 0)
			goto failed;
	}
	syscall(SYS_close_range, s->carrier_fd < 0 ? CARRIER_FD : CARRIER_FD + 1, ~0u,
		CLOSE_RANGE_CLOEXEC);
	syscall(SYS_execve, s->argv[0], s->argv, s->envp);
failed:
	s->error = errno;
	syscall(SYS_exit, 127);
	return 0;
}

#if defined(__SANITIZE_THREAD__)
/* ThreadSanitizer of gcc 14 replaces clone() and fails in the child of a child. */
extern __typeof__(clone) __clone;
#define clone_process __clone
#else
#define clone_process clone
#endif

static int run_intermediate(void *p)
{
	struct start *s = p;

	if (clone_process(exec_daemon, s->stack + STACK_LEN, CLONE_VM | CLONE_VFORK | SIGCHLD, s) <
	    0)
		s->error = errno;
	syscall(SYS_exit, 0);
	return 0;
}

static int spawn_daemon(struct start *s)
{
	uint64_t all = ~0ull, before = 0;
	char *stack = mmap(NULL, 2 * STACK_LEN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int pid;

	if (stack == MAP_FAILED)
		return errno;
	s->stack = stack;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	pid = clone_process(run_intermediate, stack + 2 * STACK_LEN, CLONE_VM | CLONE_VFORK, s);
	if (pid < 0)
		s->error = errno;
	else
		while (syscall(SYS_wait4, pid, NULL, __WCLONE, NULL) < 0 && errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	munmap(stack, 2 * STACK_LEN);
	return s->error;
}

/* Reads the message that adverbd writes to the pipe. After ADV_START_FAILED or ADV_START_WAIT,
 * reads a text until adverbd closes its end or writes nothing for START_WAIT_MS. Returns the first
 * letter; 0: none. */
static int read_said(int fd, char *said, size_t len)
{
	size_t n = 0;

	while (n < len - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int ready = adv_sys_poll(&p, 1, START_WAIT_MS);
		ssize_t got;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			break;
		got = adv_sys_read(fd, said + n, len - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (said[0] != ADV_START_FAILED && said[0] != ADV_START_WAIT)
			break;
	}
	said[n] = 0;
	return n ? said[0] : 0;
}

static int start_failed(int error, const char *path, char *why, size_t why_len)
{
	char text[64];

	snprintf(why, why_len, "cannot start %s: %s%s", path, strerror_r(error, text, sizeof(text)),
		 error == ENOENT ? " (set ADVERB_DAEMON to the path of adverbd)" : "");
	errno = error;
	return ADV_START_FAILED;
}

/* Starts adverbd with the write end of a new pipe. Returns the read end, or -1 with *error. */
static int start_with_pipe(char *path, char **environment, int carrier_fd, int *error)
{
	char *argv[] = {path, (char *)(uintptr_t) "--ready-fd=3",
			carrier_fd < 0 ? NULL : (char *)(uintptr_t) "--estate-fd=4", NULL};
	struct start s = {.argv = argv, .envp = environment, .carrier_fd = carrier_fd};
	int pipe[2];

	*error = syscall(SYS_pipe2, pipe, O_CLOEXEC) == 0 ? 0 : errno;
	if (*error)
		return -1;
	s.ready_fd = pipe[1];
	*error = spawn_daemon(&s);
	adv_sys_close(pipe[1]);
	if (!*error)
		return pipe[0];
	adv_sys_close(pipe[0]);
	return -1;
}

struct adv_control_starter *adv_control_starter_new(void)
{
	struct adv_control_starter *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	s->environment = daemon_environment();
	if (s->environment && adv_control_daemon_path(s->path) == 0 && is_executable(s->path))
		return s;
	adv_control_starter_free(s);
	return NULL;
}

void adv_control_starter_free(struct adv_control_starter *s)
{
	if (s)
		free(s->environment);
	free(s);
}

int adv_control_starter_run(struct adv_control_starter *s, int carrier, int *said, char *why,
			    size_t why_len)
{
	int error;

	*said = start_with_pipe(s->path, s->environment, carrier, &error);
	if (error) {
		start_failed(error, s->path, why, why_len);
		return error;
	}
	(void)adv_sys_fcntl(*said, F_SETFL, O_NONBLOCK);
	return 0;
}

int adv_control_start_daemon(char *why, size_t why_len)
{
	char path[PATH_MAX], said[1024];
	int error = adv_control_daemon_path(path);
	char **environment = daemon_environment();
	int fd = -1, verdict;

	if (!error && !environment)
		error = ENOMEM;
	if (!error)
		fd = start_with_pipe(path, environment, -1, &error);
	free(environment);
	if (error)
		return start_failed(error, path, why, why_len);
	verdict = read_said(fd, said, sizeof(said));
	adv_sys_close(fd);
	if (verdict == ADV_START_READY || verdict == ADV_START_LOST)
		return verdict;
	snprintf(why, why_len, "%s",
		 verdict == ADV_START_FAILED || verdict == ADV_START_WAIT
			 ? said + 1
			 : "adverbd ended while it started");
	errno = EADDRNOTAVAIL;
	return verdict == ADV_START_WAIT ? ADV_START_WAIT : ADV_START_FAILED;
}
