/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests about fault plans and objects, which the daemon answers or passes to another process. */
#ifndef ADV_RUNTIME_DAEMON_CLIENT_FAULT_H
#define ADV_RUNTIME_DAEMON_CLIENT_FAULT_H

#include "runtime/daemon/client_state.h"

/*
 * Makes a socket pair for a request. Returns the end for the process, which the caller owns, or -1
 * and errno. The struct adv_client keeps the other end until adv_client_fault_pass() passes it to a
 * receiver.
 */
int adv_client_fault_open(struct adv_client *c);

/* Passes the kept end of the socket pair to the receiver. `kind` is one of ADV_CONTROL_FAULT_*,
 * `number` a slot or a process ID. Returns 0 or errno. */
int adv_client_fault_pass(struct adv_client *c, uint32_t kind, uint32_t number);

/* Passes a request to capture the slot, which the client has just opened, to the client, for each
 * tool that captures such slots. */
void adv_client_fault_slot_opened(struct adv_client *c, uint32_t slot);

/* Closes the kept end of the socket pair. */
void adv_client_fault_close(struct adv_client *c);

#endif
