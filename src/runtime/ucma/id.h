/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ids: requests about them, and the engine's events for them. */
#ifndef ADV_RUNTIME_UCMA_ID_H
#define ADV_RUNTIME_UCMA_ID_H

#include "runtime/ucma/find.h"

extern adv_ucma_handler adv_ucma_create_id, adv_ucma_destroy_id, adv_ucma_bind,
	adv_ucma_query_route, adv_ucma_listen, adv_ucma_connect, adv_ucma_accept, adv_ucma_reject,
	adv_ucma_establish, adv_ucma_disconnect, adv_ucma_qp_attr, adv_ucma_set_option;

void adv_ucma_id_free(struct adv_ucma_id *id);
/* Makes an id for a request to an iWARP listener; its addresses are *local and *remote. NULL: the
 * listener's client has too many ids, or there is no memory. */
struct adv_ucma_id *adv_ucma_id_of_request(struct adv_ucma_id *listener,
					   const struct adv_cm_addr *local,
					   const struct adv_cm_addr *remote);
/* Handles an event of the engine. */
void adv_ucma_id_on_event(struct adv_ucma *u, const struct adv_cm_event *event);

#endif
