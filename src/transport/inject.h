/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Injected faults. The callers check that the engine has an injector. */
#ifndef ADV_TRANSPORT_INJECT_H
#define ADV_TRANSPORT_INJECT_H

#include "transport/qp_state.h"

/* Returns what happens to the post, or to the completion, of a send request. 0: nothing. */
uint32_t adv_inject_send(const struct adv_qp *qp, enum adv_injection what, uint8_t wr_opcode);
/* As adv_inject_send(), for a receive request. qp is NULL if it is posted to an SRQ. */
uint32_t adv_inject_recv(const struct adv_engine *e, const struct adv_qp *qp,
			 enum adv_injection what, uint8_t opcode);

#endif
