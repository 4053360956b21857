/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rights.h"

/* Descriptors of a message that are received and closed; the kernel drops further ones. */
#define DESCRIPTORS_READ 8
#define PIDFD_BIT	 1u

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Receives one message and closes the descriptors in it. Returns as recvmsg(2), but len + 1 for a
 * message that is too long. */
static ssize_t receive_message(int sock, void *message, size_t len)
{
	char room[CMSG_SPACE(DESCRIPTORS_READ * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {message, len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0) /* also for a message of 0 bytes, which may carry descriptors */
		adv_rights_close(&msg);
	return n >= 0 && (msg.msg_flags & MSG_TRUNC) ? (ssize_t)len + 1 : n;
}

/* Serves one message. False: no further message is queued, or the session ends. */
static bool serve_message(void *session)
{
	uint8_t message[ADV_SESSION_MESSAGE_MAX] __attribute__((aligned(8)));
	struct adv_session *s = session;
	const struct adv_session_protocol *p = s->protocol;
	ssize_t n = receive_message(s->fd, message, p->message_len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		s->dead = true;
		return false;
	}
	if (n != (ssize_t)p->message_len || !p->handle(s, message)) {
		adv_warn("process %d (%s) violates %s: disconnected", (int)s->peer.pid, s->comm,
			 p->name);
		if (p->refuse)
			p->refuse(s);
		s->dead = true;
	}
	return !s->dead;
}

static bool serve_turn(struct adv_user_turn *t, uint64_t end)
{
	struct adv_session *s = adv_container_of(t, struct adv_session, turn);

	return !s->dead &&
	       adv_user_turn_read(s->users, serve_message, s, s->protocol->messages_a_round, end);
}

void adv_session_begin(struct adv_session *s, const struct adv_session_protocol *protocol,
		       struct adv_users *users, struct adv_user *user, const struct ucred *peer,
		       int fd, int pidfd)
{
	s->users = users;
	s->protocol = protocol;
	s->fd = fd;
	s->pidfd = pidfd;
	s->epoll = -1;
	s->peer = *peer;
	adv_user_turn_init(users, &s->turn, user, peer->pid, serve_turn);
	user->descriptors += protocol->descriptors;
}

int adv_session_open_pidfd(int sock, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0) {
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		return fd;
	}
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static int watch_descriptor(int epoll, int fd, uint64_t data)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = data};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? errno : 0;
}

int adv_session_watch(struct adv_session *s, int epoll)
{
	int error = watch_descriptor(epoll, s->fd, (uintptr_t)s);

	s->epoll = epoll;
	if (!error && s->pidfd >= 0)
		error = watch_descriptor(epoll, s->pidfd, (uintptr_t)s | PIDFD_BIT);
	return error;
}

struct adv_session *adv_session_on_event(const struct epoll_event *e)
{
	struct adv_session *s =
		(struct adv_session *)(uintptr_t)(e->data.u64 & ~(uint64_t)PIDFD_BIT);

	if (s->dead)
		return s;
	if (e->data.u64 & PIDFD_BIT)
		s->dead = true;
	else if (e->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		adv_session_readable(s);
	return s;
}

void adv_session_readable(struct adv_session *s)
{
	adv_user_turn_queue(s->users, &s->turn);
}

int adv_session_send(int sock, const void *message, size_t len, int fd)
{
	union adv_rights_room room = {0};
	struct iovec iov = {(void *)(uintptr_t)message, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0)
		adv_rights_put(&msg, &room, fd);
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

void adv_session_answer(struct adv_session *s, const void *message, int fd)
{
	if (adv_session_send(s->fd, message, s->protocol->message_len, fd) != 0)
		s->dead = true;
}

void adv_session_abandon(struct adv_session *s)
{
	adv_user_turn_end(&s->turn);
	s->turn.user->descriptors -= s->protocol->descriptors;
}

/* Removes a descriptor from the epoll set and closes it. close(2) alone does not remove it while a
 * child, the next keeper, has a copy. */
static void close_watched(int epoll, int fd)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

void adv_session_close(struct adv_session *s)
{
	close_watched(s->epoll, s->fd);
	if (s->pidfd >= 0)
		close_watched(s->epoll, s->pidfd);
	adv_user_turn_end(&s->turn);
}

void adv_session_release(struct adv_session *s)
{
	s->turn.user->descriptors -= s->protocol->descriptors;
	adv_users_release(s->turn.user);
}
