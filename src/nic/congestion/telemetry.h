/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Telemetry of simulated switches, for algorithms that need it (struct adv_cc_ops). Telemetry is
 * not part of packets: the owner of the engine passes it beside them. */
#ifndef ADV_NIC_CONGESTION_TELEMETRY_H
#define ADV_NIC_CONGESTION_TELEMETRY_H

#include "nic/engine/engine.h"
#include "nic/wire/telemetry.h"

/* Notes the telemetry of a packet. Call it immediately before adv_engine_rx() with the same packet;
 * *t stays valid until that call returns; NULL: the packet has none. A request's telemetry is
 * copied for the next ACK. An ACK's is passed to the algorithm. Without memory the telemetry is
 * lost, and out_of_memory is counted. */
void adv_flow_rx_telemetry(struct adv_engine *e, const struct adv_rx_packet *pkt,
			   const struct adv_telemetry *t);

/* Returns the telemetry that an outgoing ACK of the engine has to carry; NULL: none, or the packet
 * is no ACK. It is valid until the engine receives the next packet. */
const struct adv_telemetry *adv_flow_telemetry_of_ack(const struct adv_engine *e,
						      const struct adv_tx_packet *pkt);

#endif
