/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of the control protocol. */
#ifndef ADV_RUNTIME_DAEMON_CLIENT_REQUEST_H
#define ADV_RUNTIME_DAEMON_CLIENT_REQUEST_H

#include "runtime/daemon/client_state.h"

/* Carries out a request, changes *m into the answer and sends the answer. */
void adv_client_serve(struct adv_client *c, struct adv_control_message *m);

#endif
