/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on the requests of UD queue pairs: Q_Keys, the GRH, the length of messages. */
#ifndef ADV_ABI_RULES_DATAGRAM_H
#define ADV_ABI_RULES_DATAGRAM_H

#include "abi/check/call.h"
#include "abi/check/object.h"
#include "abi/check/work.h"

/* Checks a send request that is being posted; w is its record. Does nothing if qp is not UD. Needs
 * the lock of report.h. */
void adv_check_datagram_send(struct adv_check_call *call, const struct adv_check_qp *qp,
			     const struct ibv_send_wr *wr, const struct adv_check_work *w);

/* As adv_check_datagram_send(), for a receive request of qp's own receive queue. */
void adv_check_datagram_recv(struct adv_check_call *call, const struct adv_check_qp *qp,
			     const struct adv_check_work *w);

#endif
