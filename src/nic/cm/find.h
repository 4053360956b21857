/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables by which the CM finds the id of a received message. */
#ifndef ADV_NIC_CM_FIND_H
#define ADV_NIC_CM_FIND_H

#include "nic/cm/state.h"

/* The communication or request ids in a message, of its sender and of its receiver; 0: none. */
struct adv_cm_numbers {
	uint32_t sender;
	uint32_t receiver;
};

struct adv_cm_numbers adv_cm_numbers_of(const struct adv_cm_packet *packet);

/* Chooses an unused communication id, a PSN and a transaction id for the id. */
void adv_cm_id_begin(struct adv_cm_id *id);
/* Enters an id whose peer's numbers are known, so that duplicate and stale messages find it. */
void adv_cm_id_enter_remote(struct adv_cm_id *id, uint32_t remote_comm_id);
void adv_cm_id_enter_qpn(struct adv_cm_id *id);
/* Removes the id from all tables. */
void adv_cm_id_leave_tables(struct adv_cm_id *id);
/* Removes the id from the table of QP numbers. */
void adv_cm_id_leave_qpn(struct adv_cm_id *id);

/* Returns the id with this local communication id if the addresses match, or NULL. */
struct adv_cm_id *adv_cm_id_find(struct adv_cm *cm, const struct adv_rx_meta *meta,
				 uint32_t local_comm_id);
/* As adv_cm_id_find(), if the peer's communication id matches too. */
struct adv_cm_id *adv_cm_id_find_both(struct adv_cm *cm, const struct adv_rx_meta *meta,
				      uint32_t local_comm_id, uint32_t remote_comm_id);
/* Returns the id with these numbers of the peer, or NULL. `sidr`: the number is a request id;
 * request ids are a separate number space. */
struct adv_cm_id *adv_cm_id_find_remote(struct adv_cm *cm, const struct adv_rx_meta *meta,
					uint64_t guid, uint32_t remote_comm_id, bool sidr);
struct adv_cm_id *adv_cm_id_find_qpn(struct adv_cm *cm, const struct adv_gid *gid, uint64_t guid,
				     uint32_t qpn);

#endif
