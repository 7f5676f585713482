/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The built-in models, in the order in which they are listed. Included with KERNEL(major, minor, model) (first kernel
 * that the model describes, ascending) and POLICY(model) (no kernel) defined.
 */
KERNEL(2, 6, wi_model_linux_2_6_29)
KERNEL(3, 1, wi_model_linux_3_1)
KERNEL(3, 2, wi_model_linux_3_2)
KERNEL(3, 3, wi_model_linux_3_4)
KERNEL(3, 9, wi_model_linux_3_9)
KERNEL(3, 12, wi_model_linux_3_13)
KERNEL(6, 1, wi_model_linux_6_1)
KERNEL(6, 6, wi_model_linux_6_6)
KERNEL(6, 12, wi_model_linux_6_12)
KERNEL(6, 18, wi_model_linux_6_18)
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
POLICY(wi_model_nest)
POLICY(wi_model_scx_default)
POLICY(wi_model_scx_rusty)
POLICY(wi_model_scx_bpfland)
