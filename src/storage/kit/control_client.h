/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket of a target (control.h), or of a gateway, which answers "stat" only: the
 * client's end, and what both ends share. It needs no header of verbs.
 */
#ifndef ADV_STORAGE_KIT_CONTROL_CLIENT_H
#define ADV_STORAGE_KIT_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADV_KIT_CONTROL_MESSAGE 8192u
#define ADV_KIT_CONTROL_REPLY	640u
#define ADV_KIT_CONTROL_NAME	64u /* most characters of a name */
#define ADV_KIT_CONTROL_NAMES	64u /* most programs that are found */
#define ADV_KIT_CONTROL_STAT	"stat\n"

/* The programs that have such a socket. */
struct adv_kit_control_kind {
	const char *prefix; /* of the socket's name, before the control name */
	const char *noun;   /* for messages */
};
extern const struct adv_kit_control_kind adv_kit_control_target, adv_kit_control_gateway;

/* Returns a socket that listens, and does not block; -1: `why`. clients: that may wait. */
int adv_kit_control_listen(const struct adv_kit_control_kind *kind, const char *name,
			   unsigned clients, char why[ADV_KIT_CONTROL_REPLY]);
/* True if the peer is of the same user, or root; root_may: or this process is root's. */
bool adv_kit_control_peer_allowed(int fd, bool root_may);
/* Bounds the time that the other end has to reply. */
void adv_kit_control_limit(int fd, unsigned seconds);

/* Connects to the program with this name. Returns a descriptor; -1: `why`. */
int adv_kit_control_connect(const struct adv_kit_control_kind *kind, const char *name,
			    char why[ADV_KIT_CONTROL_REPLY]);
/* Fills `names` with the control names of the programs of this network namespace, of all users.
 * Returns their number. */
size_t adv_kit_control_names(const struct adv_kit_control_kind *kind,
			     char names[ADV_KIT_CONTROL_NAMES][ADV_KIT_CONTROL_NAME + 1]);
/* Sends a request to the target with this name. Returns true and the nsid; false: `why`. */
bool adv_kit_control_request(const char *name, const char *text, uint32_t *nsid,
			     char why[ADV_KIT_CONTROL_REPLY]);

#endif
