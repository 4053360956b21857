/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_FABRIC_NETWORK_TROUBLE_H
#define ADV_FABRIC_NETWORK_TROUBLE_H

#include "fabric/network/internal.h"

/* A frame arrives from a wire that loses or damages frames. True: it is lost, and back in the pool.
 */
bool adv_fabric_loses(struct adv_fabric *f, uint32_t wire, struct adv_packet *p);

#endif
