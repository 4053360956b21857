/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the holder of a UDP port that is in use, and writes an error message with the remedy. */
#ifndef ADV_RUNTIME_STEERING_PORT_HOLDER_H
#define ADV_RUNTIME_STEERING_PORT_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct adv_port_holder {
	unsigned long inode; /* 0: the kernel's own socket */
	uid_t uid;
};

/* Reads one line of /proc/net/udp or udp6. True if its local port is `port`. */
bool adv_port_holder_parse(const char *line, uint16_t port, struct adv_port_holder *holder);

/* Writes the error message for a port that is in use. */
void adv_port_holder_describe(uint16_t port, char *why, size_t why_len);

/* True if a new daemon of this user could not bind the port now. */
bool adv_port_holder_hinders(uint16_t port);

/* True if the adverbd of another user holds the port, and has no client: it exits soon. */
bool adv_port_holder_is_idle(uint16_t port);

#endif
