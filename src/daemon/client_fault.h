/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests about fault plans and objects, which the daemon answers or passes to another process. */
#ifndef ADV_DAEMON_CLIENT_FAULT_H
#define ADV_DAEMON_CLIENT_FAULT_H

#include "daemon/client_state.h"

/*
 * Makes a socket for a request, and returns the client's end, which is the caller's. The other end
 * stays with the client until adv_client_fault_pass() knows its receiver. -1 and errno.
 */
int adv_client_fault_open(struct adv_client *c);

/* Passes the other end to the receiver: `kind` is one of ADV_CONTROL_FAULT_*, `number` a slot or a
 * process. Returns 0 or errno. */
int adv_client_fault_pass(struct adv_client *c, uint32_t kind, uint32_t number);

/* Closes the other end. */
void adv_client_fault_close(struct adv_client *c);

#endif
