/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptor I/O by raw system calls. Libraries such as librspreload interpose the C library's
 * functions; Adverb's own descriptors must never pass through such functions. Results and errno are
 * those of the system calls of the same names.
 */
#ifndef ADV_BASE_SYS_H
#define ADV_BASE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Defined if adv_sys_call() makes the system call itself. Under sanitizers it does not, so that a
 * test that replaces syscall() still sees the call. */
#if defined(__x86_64__) && defined(__LP64__) && !defined(__SANITIZE_ADDRESS__) &&                  \
	!defined(__SANITIZE_THREAD__)
#define ADV_SYS_DIRECT
#endif

/*
 * A system call without the C library's function, for the calls of each packet. Returns what the
 * kernel returns: on failure the negated errno, so that a poll of an empty socket stores no errno.
 */
static inline long adv_sys_call(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef ADV_SYS_DIRECT
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#else
	long result = syscall(number, a, b, c, d, e, f);

	return result < 0 ? -errno : result;
#endif
}

/* As adv_sys_call(), for a call of three arguments, which leaves the other registers alone. */
static inline long adv_sys_call3(long number, long a, long b, long c)
{
#ifdef ADV_SYS_DIRECT
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
#else
	return adv_sys_call(number, a, b, c, 0, 0, 0);
#endif
}

/* A directory entry of getdents64(2). */
struct adv_sys_entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static inline int adv_sys_socket(int family, int type, int protocol)
{
	return (int)syscall(SYS_socket, family, type, protocol);
}

static inline int adv_sys_bind(int fd, const void *addr, socklen_t len)
{
	return (int)syscall(SYS_bind, fd, addr, len);
}

static inline int adv_sys_connect(int fd, const void *addr, socklen_t len)
{
	return (int)syscall(SYS_connect, fd, addr, len);
}

static inline int adv_sys_getsockname(int fd, void *addr, socklen_t *len)
{
	return (int)syscall(SYS_getsockname, fd, addr, len);
}

static inline int adv_sys_getpeername(int fd, void *addr, socklen_t *len)
{
	return (int)syscall(SYS_getpeername, fd, addr, len);
}

static inline int adv_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

static inline int adv_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

static inline ssize_t adv_sys_sendto(int fd, const void *p, size_t len, int flags, const void *addr,
				     socklen_t addr_len)
{
	return syscall(SYS_sendto, fd, p, len, flags, addr, addr_len);
}

/* As adv_sys_sendto(), but returns the negated errno on failure. */
static inline ssize_t adv_sys_try_sendto(int fd, const void *p, size_t len, int flags,
					 const void *addr, socklen_t addr_len)
{
	return adv_sys_call(SYS_sendto, fd, (long)p, (long)len, flags, (long)addr, (long)addr_len);
}

static inline ssize_t adv_sys_recvfrom(int fd, void *p, size_t len, int flags, void *addr,
				       socklen_t *addr_len)
{
	return syscall(SYS_recvfrom, fd, p, len, flags, addr, addr_len);
}

static inline ssize_t adv_sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return syscall(SYS_sendmsg, fd, msg, flags);
}

static inline int adv_sys_sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	return (int)syscall(SYS_sendmmsg, fd, msgs, n, flags);
}

static inline ssize_t adv_sys_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return syscall(SYS_recvmsg, fd, msg, flags);
}

static inline int adv_sys_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

/* As adv_sys_recvmsg(), but returns the negated errno on failure. */
static inline ssize_t adv_sys_try_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return adv_sys_call3(SYS_recvmsg, fd, (long)msg, flags);
}

static inline int adv_sys_recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	return (int)syscall(SYS_recvmmsg, fd, msgs, n, flags, NULL);
}

static inline ssize_t adv_sys_read(int fd, void *p, size_t len)
{
	return syscall(SYS_read, fd, p, len);
}

static inline ssize_t adv_sys_write(int fd, const void *p, size_t len)
{
	return syscall(SYS_write, fd, p, len);
}

/* The flags must not contain O_CREAT. */
static inline int adv_sys_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static inline int adv_sys_fcntl(int fd, int command, long value)
{
	return (int)syscall(SYS_fcntl, fd, command, value);
}

static inline int adv_sys_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline int adv_sys_shutdown(int fd, int how)
{
	return (int)syscall(SYS_shutdown, fd, how);
}

/* Like the system call, writes the remaining time to *timeout. timeout NULL: no time limit. */
static inline int adv_sys_ppoll(struct pollfd *fds, nfds_t n, struct timespec *timeout)
{
	return (int)syscall(SYS_ppoll, fds, n, timeout, NULL, (size_t)(_NSIG / 8));
}

/* timeout_ms: below 0: no time limit, like poll(2). */
static inline int adv_sys_poll(struct pollfd *fds, unsigned n, int timeout_ms)
{
	struct timespec ts = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	return adv_sys_ppoll(fds, n, timeout_ms < 0 ? NULL : &ts);
}

static inline int adv_sys_eventfd(unsigned value, int flags)
{
	return (int)syscall(SYS_eventfd2, value, flags);
}

static inline int adv_sys_epoll_create(int flags)
{
	return (int)syscall(SYS_epoll_create1, flags);
}

static inline int adv_sys_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

/* timeout: NULL: no time limit. Needs Linux 5.11 (else ENOSYS; EPERM in older containers). */
static inline int adv_sys_epoll_pwait2(int epfd, struct epoll_event *events, int n,
				       const struct timespec *timeout)
{
	return (int)syscall(SYS_epoll_pwait2, epfd, events, n, timeout, NULL, (size_t)0);
}

static inline int adv_sys_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout_ms)
{
	return (int)syscall(SYS_epoll_pwait, epfd, events, n, timeout_ms, NULL, (size_t)0);
}

#endif
