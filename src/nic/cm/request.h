/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The accepting side: REQ, REP, RTU (IBTA 12.9.7). */
#ifndef ADV_NIC_CM_REQUEST_H
#define ADV_NIC_CM_REQUEST_H

#include "nic/cm/state.h"

adv_cm_rx_fn adv_cm_rx_req, adv_cm_rx_rtu;

#endif
