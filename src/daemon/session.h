/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process's socket to adverbd (SOCK_SEQPACKET), as both protocols of the daemon use it: messages
 * of one length come in, answers go out, some of them with a descriptor. The daemon never blocks on
 * a session, and spends a bounded amount of work on it in a round.
 */
#ifndef ADV_DAEMON_SESSION_H
#define ADV_DAEMON_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "daemon/users.h"

#define ADV_SESSION_MESSAGE_MAX 512 /* bytes */

struct adv_session;

struct adv_session_protocol {
	const char *name; /* for the log */
	size_t message_len;
	unsigned messages_a_round;
	unsigned descriptors; /* that a session has open in the daemon */
	/* Handles one message and answers it. False: it is not a message of this protocol. */
	bool (*handle)(struct adv_session *s, void *message);
	/* Explains to the process that its message was not one of this protocol. NULL: nothing is
	 * sent. The session ends in either case. */
	void (*refuse)(const struct adv_session *s);
};

struct adv_session {
	struct adv_turn turn;
	struct adv_users *users;
	const struct adv_session_protocol *protocol;
	int fd;
	int pidfd; /* readable when the process has exited; -1: not known, then only EOF ends it */
	int epoll; /* set by adv_session_watch() */
	struct ucred peer;
	char comm[16];
	bool dead; /* its owner closes it at the end of the round */
};

/* Starts a session in zeroed memory. It owns `fd`, `pidfd` and the caller's hold of `user`, whom it
 * charges for the descriptors. */
void adv_session_begin(struct adv_session *s, const struct adv_session_protocol *protocol,
		       struct adv_users *users, struct adv_user *user, const struct ucred *peer,
		       int fd, int pidfd);

/* Returns a pidfd of the process at the other end of a socket: the caller's. -1: it is not known.
 */
int adv_session_open_pidfd(int sock, pid_t pid);

/* Adds both descriptors to an epoll set. The data of their events is the session's address; bit 0
 * is set for the pidfd. Returns 0 or errno. */
int adv_session_watch(struct adv_session *s, int epoll);

/* Handles such an event: marks a session dead whose process has exited, and queues a readable one
 * for its turn. Returns the session. */
struct adv_session *adv_session_on_event(const struct epoll_event *e);

/* Queues the session for its turn: its socket is readable. */
void adv_session_readable(struct adv_session *s);

/* Sends a message and maybe a descriptor (-1: none) without blocking. Returns 0 or errno. */
int adv_session_send(int sock, const void *message, size_t len, int fd);

/* Sends the answer to a request. A process that sends requests but does not read the answers loses
 * its session. */
void adv_session_answer(struct adv_session *s, const void *message, int fd);

/* Undoes adv_session_begin(): descriptors and the hold of the user are the caller's again. */
void adv_session_abandon(struct adv_session *s);

/* Closes both descriptors. The session gets no further turn. */
void adv_session_close(struct adv_session *s);

/* Discharges and releases the user: the last call. */
void adv_session_release(struct adv_session *s);

#endif
