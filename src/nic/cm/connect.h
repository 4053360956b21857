/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connecting side: REQ, REP, RTU (IBTA 12.9.6). */
#ifndef ADV_NIC_CM_CONNECT_H
#define ADV_NIC_CM_CONNECT_H

#include "nic/cm/state.h"

adv_cm_rx_fn adv_cm_rx_rep;

/* Sends an RTU: to a peer that is not proven, a few times. */
void adv_cm_send_rtu(struct adv_cm_id *id, uint64_t now);

/*
 * Returns the ACK timeout of a QP, as an exponent, from the peer's ACK delay and the packet life
 * time (IBTA 12.7.34), rounded as Linux does.
 */
uint8_t adv_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time);

#endif
