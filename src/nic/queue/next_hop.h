/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Ethernet addresses to which queue pairs with RoCE v1 paths send. */
#ifndef ADV_NIC_QUEUE_NEXT_HOP_H
#define ADV_NIC_QUEUE_NEXT_HOP_H

#include <stdint.h>

struct adv_qp;

/* Sets the MAC address of the next hop of the QP's path. Call it after adv_qp_modify() with
 * IBV_QP_AV, before the QP can send. */
void adv_qp_set_next_hop(struct adv_qp *qp, const uint8_t mac[6]);

#endif
