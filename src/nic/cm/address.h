/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of ids. */
#ifndef ADV_NIC_CM_ADDRESS_H
#define ADV_NIC_CM_ADDRESS_H

#include "nic/cm/state.h"

bool adv_cm_addr_any(const struct adv_cm_addr *addr);
/* Writes the header of annex A11 that the id's requests carry. */
void adv_cm_make_ip_header(const struct adv_cm_id *id, uint8_t out[ADV_CM_IP_HEADER_LEN]);

#endif
