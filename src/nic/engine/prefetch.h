/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prefetches what an engine is about to use, for callers with many engines that know the next one
 * in advance: simulations. Only the speed depends on it. */
#ifndef ADV_NIC_ENGINE_PREFETCH_H
#define ADV_NIC_ENGINE_PREFETCH_H

#include "nic/engine/engine.h"

/* Prefetches the parts of the engine that each packet uses. */
void adv_engine_fetch(const struct adv_engine *e);

/* The functions below read what adv_engine_fetch() prefetches. */

/* Prefetches the entry of a QP number. */
void adv_engine_fetch_qpn(const struct adv_engine *e, uint32_t qpn);
/* Prefetches the queue pair that has the next turn. If it is `known`, adv_qp_fetch_turn() was
 * called for it: then prefetches its request and its flow. */
void adv_engine_fetch_turn(const struct adv_engine *e, const struct adv_qp *known);
/* Prefetches the list of timers, of which adv_engine_fetch_timer() prefetches the next one. */
void adv_engine_fetch_timers(const struct adv_engine *e);
void adv_engine_fetch_timer(const struct adv_engine *e);

/* Prefetch what a queue pair needs for its turn, or for a request that it receives. The queue pair
 * is not read. NULL: nothing happens. */
void adv_qp_fetch_turn(const struct adv_qp *qp);
void adv_qp_fetch_request(const struct adv_qp *qp);
/* After adv_qp_fetch_turn(): prefetches the next request of a queue pair, and its flow. NULL:
 * nothing happens. */
void adv_qp_fetch_next(const struct adv_qp *qp);

#endif
