/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages from adverbd to a client that are not answers: notices, and the reason for a refusal. */
#ifndef ADV_RUNTIME_DAEMON_CLIENT_NOTICE_H
#define ADV_RUNTIME_DAEMON_CLIENT_NOTICE_H

#include "runtime/daemon/client_state.h"

/* Adds the notice bits `what` to the client's unsent notices, and sends these if the socket has
 * room. */
void adv_client_notify(struct adv_client *c, uint32_t what);

/* Calls adv_client_notify() for the owner of the slot, if the slot has an owner. */
void adv_clients_notify_slot(struct adv_clients *all, unsigned slot, uint32_t what);

/* Sends a notice with a descriptor at once. Returns 0 or errno. */
int adv_client_notify_with(struct adv_client *c, uint32_t what, int fd);

/* Sends a process the reason why adverbd does not serve it. */
void adv_client_refuse(int sock, int error, const char *text);

#endif
