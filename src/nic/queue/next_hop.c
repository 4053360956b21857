/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/queue/next_hop.h"

#include <string.h>

#include "nic/queue/qp_state.h"

void adv_qp_set_next_hop(struct adv_qp *qp, const uint8_t mac[6])
{
	memcpy(qp->path.dmac, mac, sizeof(qp->path.dmac));
}
