/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What adverbd sends to a client besides answers: notices, and why it does not serve it. */
#ifndef ADV_DAEMON_CLIENT_NOTICE_H
#define ADV_DAEMON_CLIENT_NOTICE_H

#include "daemon/client_state.h"

/* Adds to the notices that the client has yet to receive, and sends them if the socket has room. */
void adv_client_notify(struct adv_client *c, uint32_t what);

/* Does this for the owner of the slot, if there is one. */
void adv_clients_notify_slot(struct adv_clients *all, unsigned slot, uint32_t what);

/* Sends a notice with a descriptor at once. Returns 0 or errno. */
int adv_client_notify_with(struct adv_client *c, uint32_t what, int fd);

/* Tells a process why it is not served. */
void adv_client_refuse(int sock, int error, const char *text);

#endif
