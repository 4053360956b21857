/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Listening. A new listener also receives the requests that the CM holds for it (early.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic/cm/early.h"
#include "nic/cm/port.h"
#include "nic/cm/request.h"
#include "nic/cm/sidr.h"

/* Delivers the held requests for which a listener exists now, with the times of their arrival. */
static void deliver_early(struct adv_cm *cm)
{
	struct adv_cm_early *e;

	while ((e = adv_cm_early_take_listened(cm))) {
		if (e->packet.attribute == ADV_CM_REQ)
			adv_cm_rx_req(cm, e->since, &e->meta, &e->packet);
		else
			adv_cm_rx_sidr_req(cm, e->since, &e->meta, &e->packet);
		free(e);
	}
}

static void unbind_id(struct adv_cm_id *id)
{
	adv_cm_port_release(id);
	memset(&id->local, 0, sizeof(id->local));
	id->bind_flags = 0;
	adv_cm_id_set_state(id, ADV_CM_IDLE);
}

int adv_cm_listen(struct adv_cm_id *id, unsigned backlog)
{
	bool bound = id->state != ADV_CM_IDLE;

	if (!bound) {
		const struct adv_cm_addr any = {
			.family = AF_INET,
			.ip.raw = {[10] = 0xff, [11] = 0xff},
		};
		int err = adv_cm_bind(id, &any, 0);

		if (err)
			return err;
	}
	if (id->state != ADV_CM_BOUND)
		return EINVAL;
	if (adv_cm_port_is_taken(id, id->port, false)) {
		if (!bound)
			unbind_id(id);
		return EADDRINUSE;
	}
	id->backlog = backlog && backlog < ADV_CM_BACKLOG_MAX ? backlog : ADV_CM_BACKLOG_MAX;
	adv_cm_id_set_state(id, ADV_CM_LISTENING);
	adv_list_del(&id->port_link);
	adv_list_add(&id->port->owners, &id->port_link);
	deliver_early(id->cm);
	return 0;
}
