/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket of a running target: adds and removes namespaces. It is a Unix socket of
 * messages with a name in the abstract namespace of this network namespace. The peer must be a
 * process of the same user, or root; both ends check that (SO_PEERCRED, unix(7)).
 *
 * A request is one message: "add" or "remove" in the first line, then a configuration (config.h)
 * with one subsystem and one namespace; without a subsystem it is for the only one. The reply is
 * one message: "ok N" (the nsid), or the reason.
 * The request "stat" is replied with a descriptor (stat_reply.h).
 */
#ifndef ADV_STORAGE_NVME_SERVER_CONTROL_H
#define ADV_STORAGE_NVME_SERVER_CONTROL_H

#include <poll.h>

#include "storage/kit/control_client.h"
#include "storage/nvme_server/subsystems.h"

#define ADV_NVME_CONTROL_CLIENTS 8u

struct adv_nvme_control {
	struct adv_nvme_subsystems *subsystems;
	int listener; /* -1: none */
	int clients[ADV_NVME_CONTROL_CLIENTS];
	unsigned count;
};

/* Makes the socket. False: `why`; the control socket then is absent, which the other functions
 * permit. */
bool adv_nvme_control_open(struct adv_nvme_control *c, const char *name,
			   struct adv_nvme_subsystems *subsystems, char why[ADV_NVME_BACKEND_WHY]);
void adv_nvme_control_close(struct adv_nvme_control *c);
/* Fills fds with what to wait for; returns their number, at most 1 + ADV_NVME_CONTROL_CLIENTS. */
unsigned adv_nvme_control_fds(const struct adv_nvme_control *c, struct pollfd *fds);
/* Accepts clients and handles their requests, without blocking. True: namespaces may have changed.
 */
bool adv_nvme_control_run(struct adv_nvme_control *c);

/* Executes a request: text[0..len) is any bytes. Writes the reply. */
void adv_nvme_control_handle(struct adv_nvme_subsystems *s, const char *text, size_t len,
			     char reply[ADV_KIT_CONTROL_REPLY]);

#endif
