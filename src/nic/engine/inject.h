/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Injected faults. The callers check that the engine has an injector. */
#ifndef ADV_NIC_ENGINE_INJECT_H
#define ADV_NIC_ENGINE_INJECT_H

#include "nic/queue/qp_state.h"

/* Returns the fault of a send request's post or completion (`what`); 0: no fault. */
uint32_t adv_inject_send(const struct adv_qp *qp, enum adv_injection what, uint8_t wr_opcode);
/* As adv_inject_send(), for a receive request. If it is posted to an SRQ, qp is NULL. */
uint32_t adv_inject_recv(const struct adv_engine *e, const struct adv_qp *qp,
			 enum adv_injection what, uint8_t opcode);
/* Copies the bytes of a packet into the application's memory, like adv_payload_store(). If such a
 * fault is injected, the last bytes become visible before the others. queue: ADV_WORK_RECV for a
 * WRITE, ADV_WORK_SEND for a READ response. */
void adv_inject_store(const struct adv_qp *qp, enum adv_work_queue queue, uint8_t *to,
		      const uint8_t *from, uint32_t length);

#endif
