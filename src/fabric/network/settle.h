/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames through switches. The ends of their transmissions are processed late: see departure.h. */
#ifndef ADV_FABRIC_NETWORK_SETTLE_H
#define ADV_FABRIC_NETWORK_SETTLE_H

#include "fabric/parts/part.h"

/* A frame arrives at a switch, which then owns it. */
void adv_fabric_switch_rx(struct adv_fabric *f, struct adv_fabric_node *n, uint16_t port,
			  struct adv_packet *p);
/* Processes the end of a transmission of a switch, whose frame is the wire's `sending`. */
void adv_fabric_sent(struct adv_fabric *f, struct adv_fabric_node *n, uint32_t wire);
/* Lets the frame whose transmission has ended go on to the other end. */
void adv_fabric_finish_sending(struct adv_fabric *f, uint32_t wire);

/* The cable of a wire of the switch has failed: the frame whose transmission has not ended is the
 * wire's `sending` again, so that it is cut. */
void adv_fabric_recall(struct adv_fabric *f, struct adv_fabric_node *n, uint32_t wire);

/* True if departures are processed at their time. A watcher learns events in their order, and
 * programs receive frames so. */
static inline bool adv_fabric_in_time(const struct adv_fabric *f)
{
	return f->watch || f->external;
}

/* As adv_fabric_settle(), if there is a departure. */
void adv_fabric_settle_departures(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t to);
/* Processes the departures of a switch up to the time `to`, which is not after its next event.
 * Everything that reads or changes the switch calls it first. */
static inline void adv_fabric_settle(struct adv_fabric *f, struct adv_fabric_node *n, uint64_t to)
{
	if (n->departures.next <= to)
		adv_fabric_settle_departures(f, n, to);
}
/* Processes ADV_DUE_SETTLE. */
void adv_fabric_settle_due(struct adv_fabric *f, struct adv_fabric_node *n);
/* As adv_fabric_settle() of all switches. */
void adv_fabric_settle_all(const struct adv_fabric *f, uint64_t to);
/* The delays of the switch's cables are known, or have changed. */
void adv_fabric_set_slack(struct adv_fabric *f, struct adv_fabric_node *n);

#endif
