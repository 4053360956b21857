/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb doctor: the checks, and how they report what they find. */
#ifndef ADV_CLI_DOCTOR_DOCTOR_H
#define ADV_CLI_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <sys/socket.h>

struct json_object;
struct adv_gid_table;

/* ADV_SLOW: it works, but slower than it could. ADV_BAD: programs fail. */
enum adv_doctor_verdict { ADV_GOOD, ADV_SLOW, ADV_BAD };

struct adv_doctor {
	struct json_object *findings; /* an array, for --json; otherwise NULL */
	unsigned bad;
	unsigned slow;
	/* An address of this machine, for the exchange with itself; length 0: none. */
	struct sockaddr_storage own;
	socklen_t own_len;
	const struct adv_gid_table *gids; /* NULL: not known */
};

/* Reports a finding: `check` is a word; `remedy`, what to do, or NULL; fmt: as for printf(3). */
void adv_doctor_report(struct adv_doctor *d, enum adv_doctor_verdict verdict, const char *check,
		       const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Checks versions, limits and permissions, and the features of the kernel. */
void adv_doctor_check_machine(struct adv_doctor *d);

/* Checks the daemon, port 4791, addresses and MTU, and sets d->own. Starts adverbd. */
void adv_doctor_check_network(struct adv_doctor *d);

/* Requests a connection from the connection manager of this machine, and from that of `peer` (an
 * address or a name) unless it is NULL. Blocks for some seconds at most. */
void adv_doctor_check_exchange(struct adv_doctor *d, const char *peer);

/* Probes whether packets of the path MTU that programs use reach the peer and return. Blocks for up
 * to 4 s. */
void adv_doctor_check_path(struct adv_doctor *d, const struct sockaddr *peer, socklen_t len);

#endif
