/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process's connection to adverbd (SOCK_SEQPACKET), for both protocols of the daemon. The process
 * sends messages of one length. The daemon sends answers, some of them with a descriptor. The
 * daemon never blocks on a session, and does a bounded amount of work for it in a round.
 */
#ifndef ADV_RUNTIME_SESSION_SESSION_H
#define ADV_RUNTIME_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "runtime/session/users.h"

#define ADV_SESSION_MESSAGE_MAX 512 /* bytes */

struct adv_session;

struct adv_session_protocol {
	const char *name; /* name of the protocol, for the log */
	size_t message_len;
	unsigned messages_a_round;
	unsigned descriptors; /* descriptors that a session has open in the daemon */
	/* Handles and answers one message. False: it is not a message of this protocol. */
	bool (*handle)(struct adv_session *s, void *message);
	/* Explains to the process that its message was not one of this protocol. NULL: nothing is
	 * sent. The session ends in either case. */
	void (*refuse)(const struct adv_session *s);
};

struct adv_session {
	struct adv_user_turn turn;
	struct adv_users *users;
	const struct adv_session_protocol *protocol;
	int fd;
	int pidfd; /* readable when the process has exited; -1: not known, so only EOF ends the
		      session */
	int epoll; /* set by adv_session_watch() */
	struct ucred peer;
	char comm[16];
	bool dead; /* its owner closes it at the end of the round */
};

/* Starts a session in zeroed memory. The session then owns `fd`, `pidfd` and the caller's hold of
 * `user`. It adds its descriptors to the user's count. */
void adv_session_begin(struct adv_session *s, const struct adv_session_protocol *protocol,
		       struct adv_users *users, struct adv_user *user, const struct ucred *peer,
		       int fd, int pidfd);

/* Returns a pidfd of the process at the other end of a socket. The caller owns it. -1: not
 * known. */
int adv_session_open_pidfd(int sock, pid_t pid);

/* Adds both descriptors to an epoll set. The data of their events is the session's address, with
 * bit 0 set for the pidfd. Returns 0 or errno. */
int adv_session_watch(struct adv_session *s, int epoll);

/* Handles an epoll event of adv_session_watch(): marks the session dead if its process has exited,
 * or queues it for its turn if it is readable. Returns the session. */
struct adv_session *adv_session_on_event(const struct epoll_event *e);

/* Queues the session for its turn: its socket is readable. */
void adv_session_readable(struct adv_session *s);

/* Sends a message and maybe a descriptor (-1: none) without blocking. Returns 0 or errno. */
int adv_session_send(int sock, const void *message, size_t len, int fd);

/* Sends the answer to a request. If the process does not read its answers and the socket is full,
 * the session is marked dead. */
void adv_session_answer(struct adv_session *s, const void *message, int fd);

/* Undoes adv_session_begin(): the caller owns the descriptors and the hold of the user again. */
void adv_session_abandon(struct adv_session *s);

/* Closes both descriptors. The session gets no further turn. */
void adv_session_close(struct adv_session *s);

/* Subtracts the session's descriptors from the user's count and releases the user. The last call
 * for a session. */
void adv_session_release(struct adv_session *s);

#endif
