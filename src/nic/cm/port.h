/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Port spaces: the ids bound to each port, and the listeners. The rules are those of Linux's
 * rdma_cm. */
#ifndef ADV_NIC_CM_PORT_H
#define ADV_NIC_CM_PORT_H

#include "nic/cm/state.h"

/* Removes the id from its port. */
void adv_cm_port_release(struct adv_cm_id *id);
/* True if another id at this port excludes `id`. `reuse`: `id` may share the port. */
bool adv_cm_port_is_taken(const struct adv_cm_id *id, const struct adv_cm_port *port, bool reuse);
/* Returns the listener at this address and port, or NULL. A listener bound to the address precedes
 * a listener bound to the wildcard. */
struct adv_cm_id *adv_cm_listener_find(struct adv_cm *cm, uint64_t service_id,
				       const struct adv_cm_ip_header *header);

#endif
