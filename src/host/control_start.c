/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Starting adverbd from inside an application that must notice nothing of it: no atfork
 * handler runs, no SIGCHLD arrives and no child of ours can turn up in the application's
 * wait(). The intermediate process shares our memory (as with vfork), has no exit signal,
 * starts the daemon as its own child and ends; only we can reap it (__WCLONE).
 */
#include "host/control.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/sys.h"

#define START_WAIT_MS 15000
#define READY_FD      3
#define ESTATE_FD     4
#define STACK_LEN     65536

struct adv_heir {
	char path[PATH_MAX];
	char **environment;
};

struct start {
	char *const *argv;
	char *const *envp;
	char *stack; /* of the daemon-to-be, until it execs */
	int ready_fd;
	int estate_fd;	    /* -1: none */
	volatile int error; /* written by the children: they share our memory */
};

static bool executable(const char *path)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

/* The file that this code was loaded from: a library, or the program itself. */
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
	/* From the folder of that file: build/, build/lib/, build/src/verbs/. */
	static const char *const beside[] = {"adverbd", "../adverbd", "../../adverbd"};
	const char *given = secure_getenv("ADVERB_DAEMON");
	char own[PATH_MAX];
	char *slash;

	if (given && *given)
		return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX ? 0 : ENAMETOOLONG;
	slash = own_file(own) == 0 ? strrchr(own, '/') : NULL;
	for (size_t i = 0; slash && i < ADV_ARRAY_SIZE(beside); i++) {
		slash[1] = 0;
		if (snprintf(path, PATH_MAX, "%s%s", own, beside[i]) < PATH_MAX && executable(path))
			return 0;
	}
	snprintf(path, PATH_MAX, "%s", ADV_LIBEXECDIR "/adverbd");
	return executable(path) ? 0 : ENOENT;
}

/* What names the application's libraries must not reach the daemon. */
static bool for_daemon(const char *variable)
{
	return strncmp(variable, "LD_PRELOAD=", 11) != 0 &&
	       strncmp(variable, "LD_LIBRARY_PATH=", 16) != 0 &&
	       strncmp(variable, "LD_AUDIT=", 9) != 0;
}

/* One allocation: pointers, then their strings, so that the application may change its own. */
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

/* Puts what the daemon is given where it looks for it. */
static bool place(const struct start *s)
{
	/* Either may be where the other belongs. */
	long ready = syscall(SYS_fcntl, s->ready_fd, F_DUPFD, ESTATE_FD + 1);
	long estate =
		s->estate_fd < 0 ? -1 : syscall(SYS_fcntl, s->estate_fd, F_DUPFD, ESTATE_FD + 1);

	return ready >= 0 && syscall(SYS_dup3, ready, READY_FD, 0) >= 0 &&
	       (s->estate_fd < 0 || (estate >= 0 && syscall(SYS_dup3, estate, ESTATE_FD, 0) >= 0));
}

/* The daemon-to-be; every signal is blocked, handlers are reset by execve. */
static int exec_daemon(void *p)
{
	struct start *s = p;
	long null;

	if (!place(s))
		goto failed;
	null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	/* Without it they are closed, and adverbd finds something: it must not have ours. */
	for (int fd = 0; fd < 3; fd++) {
		if (null < 0)
			syscall(SYS_close, fd);
		else if (null != fd && syscall(SYS_dup3, null, fd, 0) < 0)
			goto failed;
	}
	syscall(SYS_close_range, s->estate_fd < 0 ? ESTATE_FD : ESTATE_FD + 1, ~0u,
		CLOSE_RANGE_CLOEXEC);
	syscall(SYS_execve, s->argv[0], s->argv, s->envp);
failed:
	s->error = errno;
	syscall(SYS_exit, 127);
	return 0;
}

static int intermediate(void *p)
{
	struct start *s = p;

	if (clone(exec_daemon, s->stack + STACK_LEN, CLONE_VM | CLONE_VFORK | SIGCHLD, s) < 0)
		s->error = errno;
	syscall(SYS_exit, 0);
	return 0;
}

static int spawn(struct start *s)
{
	uint64_t all = ~0ull, before = 0;
	char *stack = mmap(NULL, 2 * STACK_LEN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int pid;

	if (stack == MAP_FAILED)
		return errno;
	s->stack = stack;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	pid = clone(intermediate, stack + 2 * STACK_LEN, CLONE_VM | CLONE_VFORK, s);
	if (pid < 0)
		s->error = errno;
	else
		while (syscall(SYS_wait4, pid, NULL, __WCLONE, NULL) < 0 && errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	munmap(stack, 2 * STACK_LEN);
	return s->error;
}

/* Reads what the daemon says until it closes its end. Bounded. */
static int hear(int fd, char *said, size_t len)
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

static int failed(int error, const char *path, char *why, size_t why_len)
{
	char text[64];

	snprintf(why, why_len, "cannot start %s: %s%s", path, strerror_r(error, text, sizeof(text)),
		 error == ENOENT ? " (set ADVERB_DAEMON to the path of adverbd)" : "");
	errno = error;
	return ADV_START_FAILED;
}

/* Starts the daemon with the end of a new pipe, whose other end is returned, or -1 and errno. */
static int start_daemon(char *path, char **environment, int estate_fd, int *error)
{
	char *argv[] = {path, (char *)(uintptr_t) "--ready-fd=3",
			estate_fd < 0 ? NULL : (char *)(uintptr_t) "--estate-fd=4", NULL};
	struct start s = {.argv = argv, .envp = environment, .estate_fd = estate_fd};
	int pipe[2];

	*error = syscall(SYS_pipe2, pipe, O_CLOEXEC) == 0 ? 0 : errno;
	if (*error)
		return -1;
	s.ready_fd = pipe[1];
	*error = spawn(&s);
	adv_sys_close(pipe[1]);
	if (!*error)
		return pipe[0];
	adv_sys_close(pipe[0]);
	return -1;
}

struct adv_heir *adv_control_heir_new(void)
{
	struct adv_heir *h = malloc(sizeof(*h));

	if (!h)
		return NULL;
	h->environment = daemon_environment();
	if (h->environment && adv_control_daemon_path(h->path) == 0 && executable(h->path))
		return h;
	adv_control_heir_free(h);
	return NULL;
}

void adv_control_heir_free(struct adv_heir *h)
{
	if (h)
		free(h->environment);
	free(h);
}

int adv_control_heir_start(struct adv_heir *h, int estate_fd, int *said, char *why, size_t why_len)
{
	int error;

	*said = start_daemon(h->path, h->environment, estate_fd, &error);
	if (error) {
		failed(error, h->path, why, why_len);
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
		fd = start_daemon(path, environment, -1, &error);
	free(environment);
	if (error)
		return failed(error, path, why, why_len);
	verdict = hear(fd, said, sizeof(said));
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
