/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The built-in models, in the order in which they are listed. Included with KERNEL(major, minor, model) (first kernel
 * that the model describes, ascending) and POLICY(model) (no kernel) defined.
 */
POLICY(wi_model_prev)
POLICY(wi_model_waker)
POLICY(wi_model_prev_idle)
POLICY(wi_model_random_idle)
POLICY(wi_model_least_loaded)
POLICY(wi_model_idle_core_first)
POLICY(wi_model_llc_only)
POLICY(wi_model_waker_llc)
POLICY(wi_model_pack)
POLICY(wi_model_oldest_idle)
