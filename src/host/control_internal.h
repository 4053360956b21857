/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the control protocol's client share. */
#ifndef ADV_HOST_CONTROL_INTERNAL_H
#define ADV_HOST_CONTROL_INTERNAL_H

#include "host/control.h"

/* An empty message. */
void adv_control_message_init(struct adv_control_message *m, enum adv_control_type type,
			      uint32_t serial);

/*
 * Asks, and waits for the answer, which takes the request's place in *m; *fd is the descriptor
 * that came along, the caller's, or -1. Returns the answer's result, or errno where there was
 * none: ECONNRESET the daemon went away, ETIMEDOUT it does not answer, EPROTO.
 */
int adv_control_ask(struct adv_control *c, struct adv_control_message *m, int *fd);

/* One line for a person: why a request was not fulfilled, m being what adv_control_ask() left. */
void adv_control_explain(const struct adv_control_message *m, int error, char *why, size_t why_len);

#endif
